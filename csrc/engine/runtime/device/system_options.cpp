// Options of the whole process and of a context. Those that the engine fulfils anyway are accepted, those that it cannot fulfil are
// refused.

#include "engine/runtime/device/context.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

constexpr int kDeterministic = 0;
constexpr int kDebugKernel = 1;

static std::atomic<int64_t> process_options[kSystemOptions];

// Whether the deterministic option is set or not, the engine's results are the same bits. The debug kernels do not exist.
static void require_option(int opt, int64_t value) {
    if (opt < kDeterministic || opt >= kSystemOptions)
        refuse(ACL_ERROR_INVALID_PARAM, "opt", text("a value in 0..", kSystemOptions - 1), std::to_string(opt));
    if (value != 0 && value != 1) refuse(ACL_ERROR_INVALID_PARAM, "value", "0 or 1", std::to_string(value));
    if (opt == kDebugKernel && value == 1)
        refuse(ACL_ERROR_API_NOT_SUPPORT, "value", "0 for ACL_OPT_ENABLE_DEBUG_KERNEL, which is not supported", "1");
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return guarded(__func__, [&] {
        require_option(opt, value);
        process_options[opt] = value;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return write_result(__func__, "value", value, [&] {
        require_option(opt, 0);
        return process_options[opt].load();
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return guarded(__func__, [&] {
        require_option(opt, value);
        current_context()->options[opt] = value;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        require_option(opt, 0);
        const int64_t set = current_context()->options[opt];
        if (set < 0) refuse(ACL_ERROR_INVALID_PARAM, "opt", "an option that has been set for the context", std::to_string(opt));
        *value = set;
    });
}
