// Options of the whole process and of a context. Those that the engine keeps by nature are accepted, those it cannot keep refused.

#include "engine/runtime/device/context.h"
#include "engine/runtime/error/call.h"

namespace torch_aclnn::host {
namespace {

constexpr int kDeterministic = 0;
constexpr int kDebugKernel = 1;

std::atomic<int64_t> process_options[kSystemOptions];

// Deterministic: the engine's results are the same bits either way. The debug kernels do not exist.
aclError check_option(const char* function, int opt, int64_t value) {
    if (opt < kDeterministic || opt >= kSystemOptions) {
        return fail(ACL_ERROR_INVALID_PARAM, text(function, ": opt must be from 0 to ", kSystemOptions - 1, ", got ", opt));
    }
    if (value != 0 && value != 1) return fail(ACL_ERROR_INVALID_PARAM, text(function, ": value must be 0 or 1, got ", value));
    if (opt == kDebugKernel && value == 1) {
        return fail(ACL_ERROR_API_NOT_SUPPORT, text(function, ": ACL_OPT_ENABLE_DEBUG_KERNEL is not supported"));
    }
    return ACL_SUCCESS;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetSysParamOpt(int opt, int64_t value) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (aclError code = check_option(function, opt, value)) return code;
        process_options[opt] = value;
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetSysParamOpt(int opt, int64_t* value) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (value == nullptr) return fail_null(function, "value");
        if (aclError code = check_option(function, opt, 0)) return code;
        *value = process_options[opt];
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtCtxSetSysParamOpt(int opt, int64_t value) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (aclError code = check_option(function, opt, value)) return code;
        std::shared_ptr<Context> context;
        if (aclError code = find_current_context(function, context)) return code;
        context->options[opt] = value;
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtCtxGetSysParamOpt(int opt, int64_t* value) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (value == nullptr) return fail_null(function, "value");
        if (aclError code = check_option(function, opt, 0)) return code;
        std::shared_ptr<Context> context;
        if (aclError code = find_current_context(function, context)) return code;
        *value = context->options[opt];
        return ACL_SUCCESS;
    });
}
