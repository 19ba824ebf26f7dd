#include "engine/runtime/stream/stream.h"

#include <cstdio>
#include <cstdlib>

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/registry.h"

namespace torch_aclnn::host {
namespace {

// Never destroyed: calls still come while the process exits.
Registry<Stream>& streams() {
    static auto* const once = new Registry<Stream>(HandleKind::stream);
    return *once;
}

void print_lost(const Stream& stream, const Failure& failure, const char* when) {
    std::fprintf(stderr, "torch_aclnn: stream %d of device %d %s with a failure that nobody asked for: %d, %s\n", stream.id(),
                 stream.device(), when, failure.code(), failure.message().c_str());
}

// A program that ends without a synchronisation must still see that its work failed.
void print_lost_at_exit() {
    for (int device = 0; device < device_count(); ++device) {
        for (const auto& stream : streams_of(device)) {
            const auto failure = stream->failure();
            if (failure != nullptr && failure->tell() != ACL_SUCCESS) print_lost(*stream, *failure, "ends");
        }
    }
}

aclError create_stream(const char* function, aclrtStream* stream) {
    if (stream == nullptr) return fail_null(function, "stream");
    Device* device = nullptr;
    if (aclError code = find_current_device(function, device)) return code;
    *stream = streams().add(make_stream(device->index()));
    return ACL_SUCCESS;
}

aclError destroy_stream(const char* function, aclrtStream handle) {
    const auto stream = streams().remove(handle);
    if (stream == nullptr) {
        return fail(ACL_ERROR_RT_INVALID_HANDLE, text(function, ": stream must be a live stream, got ", handle));
    }
    stream->wait(Stream::kForever);
    if (const auto failure = stream->failure()) print_lost(*stream, *failure, "is destroyed");
    return ACL_SUCCESS;
}

}  // namespace

void watch_for_lost_failures() {
    static const int registered = std::atexit(print_lost_at_exit);
    (void)registered;
}

std::vector<std::shared_ptr<Stream>> streams_of(int index) {
    std::vector<std::shared_ptr<Stream>> found;
    Device* device = nullptr;
    if (find_device("streams_of", "index", index, device) != ACL_SUCCESS) return found;
    found.push_back(device->default_stream());
    for (auto& stream : streams().all()) {
        if (stream->device() == index) found.push_back(std::move(stream));
    }
    return found;
}

aclError find_stream(const char* function, aclrtStream handle, std::shared_ptr<Stream>& stream) {
    if (handle == nullptr) {
        Device* device = nullptr;
        if (aclError code = find_current_device(function, device)) return code;
        stream = device->default_stream();
        return ACL_SUCCESS;
    }
    stream = streams().find(handle);
    if (stream != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, text(function, ": stream must be null or a live stream, got ", handle));
}

aclError enqueue(aclrtStream handle, Task& task) noexcept {
    return guarded(task.name(), [&](const char* function) -> aclError {
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        Device* device = nullptr;
        if (aclError code = find_device(function, "stream's device", stream->device(), device)) return code;
        if (device->is_reset())
            return fail(ACL_ERROR_RT_CONTEXT_NULL, text(function, ": stream must be of a device in use, got one of device ",
                                                        stream->device(), ", which has been reset"));
        stream->submit(task);
        return ACL_SUCCESS;
    });
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtCreateStream(aclrtStream* stream) {
    return traced(
        __func__, [&](const char* function) { return create_stream(function, stream); }, [&] { return text(stream ? *stream : nullptr); });
}

// Priority and flags are hints about scheduling; the engine has one way to schedule.
extern "C" aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    return traced(
        __func__, [&](const char* function) { return create_stream(function, stream); },
        [&] { return text(stream ? *stream : nullptr, ", priority ", priority, ", flag ", flag); });
}

extern "C" aclError aclrtDestroyStream(aclrtStream stream) {
    return traced(__func__, [&](const char* function) { return destroy_stream(function, stream); }, [&] { return text(stream); });
}

// Work that has begun cannot be abandoned on a CPU, so this waits for it as aclrtDestroyStream does.
extern "C" aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return traced(__func__, [&](const char* function) { return destroy_stream(function, stream); }, [&] { return text(stream); });
}

extern "C" aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (status == nullptr) return fail_null(function, "status");
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        *status = stream->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtStreamGetId(aclrtStream handle, int32_t* streamId) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (streamId == nullptr) return fail_null(function, "streamId");
        std::shared_ptr<Stream> stream;
        if (aclError code = find_stream(function, handle, stream)) return code;
        *streamId = stream->id();
        return ACL_SUCCESS;
    });
}
