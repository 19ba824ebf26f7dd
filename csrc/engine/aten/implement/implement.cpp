// The functions of torch_aclnn/implement.h.

#include "torch_aclnn/implement.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <sstream>
#include <vector>

#include "engine/aten/implement/by_name.h"
#include "engine/aten/implement/entry_point.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host::aten {
namespace {

constexpr const char* kVariable = "TORCH_ACLNN_HOST_LIBRARIES";

// All functions that there have been, and the one lock of what adds to them.
struct Implementations {
    std::mutex mutex;
    std::vector<ImplementedFunction*> functions;

    static Implementations& of_process() {
        static auto* const once = new Implementations;
        return *once;
    }
};

ImplementedFunction& implement_operator(const torchAclnnImplementation& given) {
    auto function = std::make_unique<ImplementedFunction>(given);
    if (NamedOperator::find(function->name()) != nullptr && given.replace == 0)
        refuse(ACL_ERROR_INVALID_PARAM, function->name(), "a name that is not taken, or replace=True", "an operator that is there");
    ImplementedFunction* const kept = function.release();  // calls that are under way may use it at any time, and so those below
    (void)new NamedOperator(kept->name().c_str(), [kept](OperatorCall& call) { run_implemented(*kept, call); });
    return *kept;
}

ImplementedFunction& implement_entry_point(const torchAclnnImplementation& given) {
    auto entry_point = std::make_unique<ImplementedEntryPoint>(given);
    entry_point->publish(given.replace != 0);
    return entry_point.release()->function;
}

void implement(const torchAclnnImplementation& given) {
    Implementations& known = Implementations::of_process();
    const std::lock_guard lock(known.mutex);
    known.functions.reserve(known.functions.size() + 1);
    const bool of_entry_point = given.name != nullptr && is_entry_point(given.name);
    known.functions.push_back(of_entry_point ? &implement_entry_point(given) : &implement_operator(given));
}

void implement_all(const torchAclnnLibrary* library) {
    require_pointer("library", library);
    if (library->major != TORCH_ACLNN_IMPLEMENT_MAJOR)
        refuse(ACL_ERROR_INVALID_PARAM, "torch_aclnn/implement.h", text("version ", TORCH_ACLNN_IMPLEMENT_MAJOR, ".x"),
               text(library->major, ".", library->minor, "; compile the library with the headers of this release"));
    if (library->count > 0) require_pointer("implementations", library->implementations);
    for (size_t i = 0; i < library->count; ++i) implement(library->implementations[i]);
}

void load_library(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error(ACL_ERROR_INVALID_PARAM, dlerror());
    const auto function = reinterpret_cast<torchAclnnHostLibraryFunction>(dlsym(library, "torchAclnnHostLibrary"));
    if (function == nullptr) throw Error(ACL_ERROR_INVALID_PARAM, "it does not export torchAclnnHostLibrary (torch_aclnn/implement.h)");
    implement_all(function());
}

std::unique_ptr<const Error> failure_of_libraries() {
    std::istringstream paths(config().libraries);
    for (std::string path; std::getline(paths, path, ':');) {
        try {
            if (!path.empty()) load_library(path);
        } catch (const Error& error) {
            return std::make_unique<const Error>(error.code(), text(kVariable, ": ", path, ": ", error.what()));
        }
    }
    return nullptr;
}

}  // namespace
}  // namespace torch_aclnn::host::aten

using namespace torch_aclnn::host;

aclError torchAclnnHostImplement(const torchAclnnLibrary* library) {
    return guarded(__func__, [&] { aten::implement_all(library); });
}

aclError torchAclnnHostStopFunction(torchAclnnFunction function, const char* reason) {
    return guarded(__func__, [&] {
        aten::Implementations& known = aten::Implementations::of_process();
        std::unique_lock lock(known.mutex);
        const std::vector<aten::ImplementedFunction*> functions = known.functions;
        lock.unlock();  // a call that is waited for may implement another
        for (aten::ImplementedFunction* one : functions)
            if (one->is(function)) one->stop(reason);
    });
}

aclError torchAclnnHostLoadLibraries() {
    return guarded(__func__, [] {
        // After a failure each later call fails: some of the libraries may have been loaded.
        static const std::unique_ptr<const Error> failed = aten::failure_of_libraries();
        if (failed != nullptr) throw Error(*failed);
    });
}
