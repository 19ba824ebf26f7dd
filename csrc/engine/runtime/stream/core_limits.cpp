// How many of a chip's cores may be used: by the process on a device, and by a stream. The engine has threads instead, which
// TORCH_ACLNN_HOST_THREADS limits; what a program sets here it gets back, and nothing else.

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

static thread_local std::weak_ptr<Stream> used_in_thread;

static CoreLimits& of_device(int32_t device) {
    return find_device("deviceId", device).core_limits();
}

static size_t place_of(aclrtDevResLimitType type) {
    if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "type", "0 (cube cores) or 1 (vector cores)", std::to_string(type));
    return static_cast<size_t>(type);
}

static void set(CoreLimits& limits, aclrtDevResLimitType type, uint32_t value) {
    if (value == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "value", "at least 1", "0");
    limits[place_of(type)] = value;
}

static void reset(CoreLimits& limits) {
    for (auto& limit : limits) limit = 0;
}

// Returns the first limit that was set; otherwise the number that there is.
static uint32_t limit_of(const Stream* stream, int device, aclrtDevResLimitType type) {
    const size_t place = place_of(type);
    const uint32_t of_stream = stream != nullptr ? stream->core_limits()[place].load() : 0;
    if (of_stream != 0) return of_stream;
    const uint32_t of_process = of_device(device)[place];
    return of_process != 0 ? of_process : static_cast<uint32_t>(config().thread_count);
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
    return write_result(__func__, "value", value, [&] { return limit_of(nullptr, deviceId, type); });
}

extern "C" aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
    return guarded(__func__, [&] { set(of_device(deviceId), type, value); });
}

extern "C" aclError aclrtResetDeviceResLimit(int32_t deviceId) {
    return guarded(__func__, [&] { reset(of_device(deviceId)); });
}

extern "C" aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
    return write_result(__func__, "value", value, [&] {
        const auto found = find_stream(stream);
        return limit_of(found.get(), found->device(), type);
    });
}

extern "C" aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
    return guarded(__func__, [&] { set(find_stream(stream)->core_limits(), type, value); });
}

extern "C" aclError aclrtResetStreamResLimit(aclrtStream stream) {
    return guarded(__func__, [&] { reset(find_stream(stream)->core_limits()); });
}

extern "C" aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
    return guarded(__func__, [&] { used_in_thread = find_stream(stream); });
}

extern "C" aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
    return guarded(__func__, [&] {
        (void)find_stream(stream);
        used_in_thread.reset();
    });
}

extern "C" aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
    return write_result(__func__, "value", value, [&] { return limit_of(used_in_thread.lock().get(), current_device().index(), type); });
}
