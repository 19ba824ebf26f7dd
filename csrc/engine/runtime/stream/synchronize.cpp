// Waiting for streams, which is where a program learns of what failed on them.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/computing_thread.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

constexpr aclError kSynchronizeTimeout = 107020;  // documented: ACL_ERROR_RT_STREAM_SYNC_TIMEOUT

static void require_end(Stream& stream, int milliseconds) {
    if (!stream.wait(deadline_after(milliseconds)))
        throw Error(kSynchronizeTimeout, text("stream ", stream.id(), " still runs after ", milliseconds, " ms"));
}

constexpr int kForever = -1;

static void synchronize_device(int milliseconds) {
    require_device_waitable(current_device().index());
    end_idle_threads();
    const auto all = streams_of(current_device());
    for (const auto& stream : all) require_end(*stream, milliseconds);
    for (const auto& stream : all) stream->report_failure();
}

static void synchronize_stream(aclrtStream handle, int milliseconds) {
    const auto stream = find_stream(handle);
    require_waitable(*stream);
    end_idle_threads();
    require_end(*stream, milliseconds);
    stream->report_failure();
}

static void require_timeout(int32_t timeout) {
    if (timeout < -1) refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout", "-1 (forever) or milliseconds", std::to_string(timeout));
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtSynchronizeStream(aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments().on(stream), [&] { synchronize_stream(stream, kForever); });
}

extern "C" aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return traced(can_fail(__func__), call_arguments("timeout", timeout).on(stream), [&] {
        require_timeout(timeout);
        synchronize_stream(stream, timeout);
    });
}

extern "C" aclError aclrtSynchronizeDevice(void) {
    return traced(can_fail(__func__), call_arguments(), [] { synchronize_device(kForever); });
}

extern "C" aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return traced(can_fail(__func__), call_arguments("timeout", timeout), [&] {
        require_timeout(timeout);
        synchronize_device(timeout);
    });
}

// Waits for the device's work. Its memory stays: torch_npu still frees some of it afterwards.
extern "C" aclError aclrtResetDevice(int32_t deviceId) {
    return traced(__func__, call_arguments("deviceId", deviceId), [&] {
        Device& device = find_device("deviceId", deviceId);
        device.begin_reset();
        for (const auto& stream : streams_of(device)) stream->wait(Stream::kForever);
        device.reset();
        if (current_device_index() == deviceId) set_current(nullptr, -1);
    });
}
