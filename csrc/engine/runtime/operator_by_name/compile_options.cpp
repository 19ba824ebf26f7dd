// Options of the operator compiler. The engine has none, so they are only kept: aclopCompileAndExecute refuses whatever they are.

#include <cstring>
#include <mutex>

#include "acl/acl_op_compiler.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/operator_by_name/operator_call.h"

namespace torch_aclnn::host {
namespace {

struct CompileOptions {
    std::mutex mutex;
    // Nothing is ever compiled at run time. On 310P hardware the default is "enable", which programs for it switch off.
    std::map<int, std::string> values = {{ACL_OP_JIT_COMPILE, "disable"}};
};

constexpr auto& compile_options = lasting<CompileOptions>;

}  // namespace

bool is_jit_compile_on() {
    CompileOptions& options = compile_options();
    std::lock_guard<std::mutex> lock(options.mutex);
    return options.values[ACL_OP_JIT_COMPILE] == "enable";
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The folder has operators that were compiled before, which the engine does not need.
extern "C" TORCH_ACLNN_HOST_API aclError aclopSetModelDir(const char* modelDir) {
    return guarded(__func__, [&] { require_pointer("modelDir", modelDir); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        options.values[opt] = value;
    });
}

// Returns the size of the value with its terminator; 0 if the option has no value.
extern "C" TORCH_ACLNN_HOST_API size_t aclGetCompileoptSize(aclCompileOpt opt) {
    size_t size = 0;
    guarded(__func__, [&] {
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        const auto found = options.values.find(opt);
        if (found != options.values.end()) size = found->second.size() + 1;
    });
    return size;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        CompileOptions& options = compile_options();
        std::lock_guard<std::mutex> lock(options.mutex);
        const auto found = options.values.find(opt);
        if (found == options.values.end()) refuse(ACL_ERROR_INVALID_PARAM, "opt", "an option with a value", std::to_string(opt));
        const size_t size = found->second.size() + 1;
        if (length < size) refuse(ACL_ERROR_INVALID_PARAM, "length", text("at least ", size), std::to_string(length));
        std::memcpy(value, found->second.c_str(), size);
    });
}
