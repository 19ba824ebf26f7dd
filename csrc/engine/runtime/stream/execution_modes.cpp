// How a device or a stream is to behave. What the engine does anyway is accepted, the opposite refused.

#include "engine/runtime/error/guarded.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

constexpr uint64_t kStopOnFailure = 1;

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The kernels follow IEEE arithmetic: infinities and NaNs stay what they are.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    return guarded(__func__, [&] {
        if (mode != ACL_RT_OVERFLOW_MODE_INFNAN)
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "mode", "1 (infinities and NaNs are kept)", std::to_string(mode));
    });
}

// Time limits guard a chip against an operator that hangs. A CPU kernel cannot be aborted, so no limit is enforced: every operator is
// as if it had ended in time.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetOpExecuteTimeOut(uint32_t) {
    return ACL_SUCCESS;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetOpWaitTimeout(uint32_t) {
    return ACL_SUCCESS;
}

// What the engine does in any case.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
    return guarded(__func__, [&] {
        (void)find_stream(handle);
        if (mode != kStopOnFailure) refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "mode", "1 (stop on failure)", std::to_string(mode));
    });
}

// Kept to be read back. What the switch lets a chip detect is read by operators that the engine does not have.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamOverflowSwitch(aclrtStream handle, uint32_t flag) {
    return guarded(__func__, [&] {
        const auto stream = find_stream(handle);
        if (flag > 1) refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "0 or 1", std::to_string(flag));
        stream->set_overflow_switch(flag);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetStreamOverflowSwitch(aclrtStream handle, uint32_t* flag) {
    return guarded(__func__, [&] {
        require_pointer("flag", flag);
        *flag = find_stream(handle)->overflow_switch();
    });
}
