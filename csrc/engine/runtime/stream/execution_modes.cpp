// Modes of a device or a stream. A mode that the engine always has is accepted, its opposite refused.

#include "engine/runtime/error/guarded.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

constexpr uint64_t kStopOnFailure = 1;

static void set_failure_mode(uint64_t mode) {
    if (mode != kStopOnFailure) refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "mode", "1 (stop on failure)", std::to_string(mode));
}

static void require_switch(const char* parameter, uint32_t value) {
    if (value > 1) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "0 or 1", std::to_string(value));
}

static void set_overflow_switch(Stream& stream, const char* parameter, uint32_t value) {
    require_switch(parameter, value);
    stream.set_overflow_switch(value);
}

// A profiler's further data on the operators of a graph is known anyway, so it needs no switch.
static void set_attribute(Stream& stream, aclrtStreamAttr attribute, const aclrtStreamAttrValue& value) {
    switch (attribute) {
        case ACL_STREAM_ATTR_FAILURE_MODE: return set_failure_mode(value.failureMode);
        case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: return set_overflow_switch(stream, "value", value.overflowSwitch);
        case ACL_STREAM_ATTR_CACHE_OP_INFO: return require_switch("value", value.cacheOpInfoSwitch);
    }
    refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "stmAttrType", "1 (failure mode), 2 (overflow switch) or 4 (operator information)",
           std::to_string(attribute));
}
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

// The times are in microseconds.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
    return write_result(__func__, "actualTimeout", actualTimeout, [&] { return timeout; });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetOpWaitTimeout(uint32_t) {
    return ACL_SUCCESS;
}

// The engine does this in any case.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
    return guarded(__func__, [&] {
        (void)find_stream(handle);
        set_failure_mode(mode);
    });
}

// The switch is kept to be read back. What it lets a chip detect is read by operators that the engine does not have.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamOverflowSwitch(aclrtStream handle, uint32_t flag) {
    return guarded(__func__, [&] { set_overflow_switch(*find_stream(handle), "flag", flag); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetStreamOverflowSwitch(aclrtStream handle, uint32_t* flag) {
    return write_result(__func__, "flag", flag, [&] { return find_stream(handle)->overflow_switch(); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtSetStreamAttribute(aclrtStream handle, aclrtStreamAttr stmAttrType,
                                                                 aclrtStreamAttrValue* value) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        set_attribute(*find_stream(handle), stmAttrType, *value);
    });
}
