// How a device or a stream is to behave. What the engine does anyway is accepted, the opposite refused.

#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

constexpr int kInfNanMode = 1;
constexpr uint64_t kStopOnFailure = 1;

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The kernels follow IEEE arithmetic: infinities and NaNs stay what they are.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetDeviceSatMode(int mode) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (mode == kInfNanMode) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text(function, ": mode must be 1 (infinities and NaNs are kept), got ", mode));
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
    return guarded(__func__, [&](const char* function) -> aclError {
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        if (mode == kStopOnFailure) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text(function, ": mode must be 1 (stop on failure), got ", mode));
    });
}

// Kept to be read back. What the switch lets a chip detect is read by operators that the engine does not have.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamOverflowSwitch(aclrtStream handle, uint32_t flag) {
    return guarded(__func__, [&](const char* function) -> aclError {
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        if (flag > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": flag must be 0 or 1, got ", flag));
        stream->set_overflow_switch(flag);
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetStreamOverflowSwitch(aclrtStream handle, uint32_t* flag) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (flag == nullptr) return fail_null(function, "flag");
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        *flag = stream->overflow_switch();
        return ACL_SUCCESS;
    });
}
