// Options of the operator compiler. The engine has none, so they are only kept: aclopCompileAndExecute refuses whatever they are.

#include <cstring>
#include <map>
#include <mutex>

#include "engine/runtime/error/call.h"

namespace torch_aclnn::host {
namespace {

constexpr int kJitCompile = 10;

struct CompileOptions {
    std::mutex mutex;
    // Nothing is ever compiled at run time.
    std::map<int, std::string> values = {{kJitCompile, "disable"}};
};

CompileOptions& compile_options() {
    static auto* const once = new CompileOptions;
    return *once;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclSetCompileopt(int opt, const char* value) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (value == nullptr) return fail_null(function, "value");
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        options.values[opt] = value;
        return ACL_SUCCESS;
    });
}

// The size of the value with its terminator; 0 if the option has no value.
extern "C" TORCH_ACLNN_HOST_API size_t aclGetCompileoptSize(int opt) {
    size_t size = 0;
    guarded(__func__, [&](const char*) -> aclError {
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        const auto found = options.values.find(opt);
        if (found != options.values.end()) size = found->second.size() + 1;
        return ACL_SUCCESS;
    });
    return size;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclGetCompileopt(int opt, char* value, size_t length) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (value == nullptr) return fail_null(function, "value");
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        const auto found = options.values.find(opt);
        if (found == options.values.end()) return fail(ACL_ERROR_INVALID_PARAM, text(function, ": opt ", opt, " has no value"));
        const size_t size = found->second.size() + 1;
        if (length < size) return fail(ACL_ERROR_INVALID_PARAM, text(function, ": length must be at least ", size, ", got ", length));
        std::memcpy(value, found->second.c_str(), size);
        return ACL_SUCCESS;
    });
}
