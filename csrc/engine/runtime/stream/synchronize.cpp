// Waiting for streams, which is where a program learns of what failed on them.

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

constexpr aclError kSynchronizeTimeout = 107020;  // documented: ACL_ERROR_RT_STREAM_SYNC_TIMEOUT

// Tells the calling thread of the stream's failure, if it has one.
aclError report(Stream& stream) {
    const auto failure = stream.failure();
    return failure == nullptr ? ACL_SUCCESS : failure->tell();
}

aclError synchronize_device(const char* function, int milliseconds) {
    Device* device = nullptr;
    if (aclError code = find_current_device(function, device)) return code;
    const auto all = streams_of(device->index());
    for (const auto& stream : all) {
        if (!stream->wait(milliseconds)) {
            return fail(kSynchronizeTimeout, text(function, ": stream ", stream->id(), " still runs after ", milliseconds, " ms"));
        }
    }
    for (const auto& stream : all) {
        if (aclError code = report(*stream)) return code;
    }
    return ACL_SUCCESS;
}

aclError synchronize_stream(const char* function, aclrtStream handle, int milliseconds) {
    std::shared_ptr<Stream> stream;
    if (aclError code = find_stream(function, handle, stream)) return code;
    if (!stream->wait(milliseconds)) {
        return fail(kSynchronizeTimeout, text(function, ": stream ", stream->id(), " still runs after ", milliseconds, " ms"));
    }
    return report(*stream);
}

aclError check_timeout(const char* function, int32_t timeout) {
    if (timeout >= -1) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": timeout must be -1 (forever) or milliseconds, got ", timeout));
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtSynchronizeStream(aclrtStream stream) {
    return traced(
        __func__, [&](const char* function) { return synchronize_stream(function, stream, Stream::kForever); },
        [&] { return text(stream); });
}

extern "C" aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_timeout(function, timeout)) return code;
            return synchronize_stream(function, stream, timeout);
        },
        [&] { return text(stream, ", timeout ", timeout); });
}

extern "C" aclError aclrtSynchronizeDevice(void) {
    return traced(__func__, [](const char* function) { return synchronize_device(function, Stream::kForever); }, [] { return ""; });
}

extern "C" aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (aclError code = check_timeout(function, timeout)) return code;
            return synchronize_device(function, timeout);
        },
        [&] { return text("timeout ", timeout); });
}
