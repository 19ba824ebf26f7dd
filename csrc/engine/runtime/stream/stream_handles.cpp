// The handles of streams, and the work that is handed to them.

#include <cstdio>
#include <cstdlib>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

constexpr auto kExitWait = std::chrono::seconds(2);

constexpr auto& streams = lasting<HandleTable<Stream>, HandleKind::stream>;

static void list_leaked_streams(LeakList& list) {
    streams().for_each([&](const void* handle, const Stream& stream) {
        list.add("destroyed", "stream", text("stream ", handle, ", ", stream.id(), " of device ", stream.device()), stream.made_at());
    });
}
const bool leaked_streams_are_listed = (add_leak_report(list_leaked_streams), true);

static void print_unreported(const Stream& stream, const Error& error, const char* when) {
    std::fprintf(stderr, "torch_aclnn: stream %d of device %d %s with a failure that has not been reported: %d, %s: %s\n", stream.id(),
                 stream.device(), when, error.code(), error.function(), error.what());
    add_finding("failure that was not reported");
}

// Waits, because what runs may use what the process is about to take down; but only for some time, because a collective may wait for a
// process that has ended.
static void end_all_streams() {
    if (is_forked()) return;
    const auto deadline = Completion::Clock::now() + kExitWait;
    for (int index = 0; index < device_count(); ++index) {
        for (const auto& stream : streams_of(find_device("device", index))) {
            if (config().asynchronous) stream->wait(deadline);
            const auto failure = stream->failure();  // a program that did not synchronise must receive the failure here
            if (failure != nullptr && failure->claim()) print_unreported(*stream, failure->error(), "ends");
            stream->abandon(deadline);
        }
    }
}

// Work on a stream is work of that stream's device: 107000, naming the parameter, if the task would read or write memory of another device.
// Copies may do so, and are not checked here.
static void require_memory_of(int device, const Task& task) {
    if (device_count() == 1) return;
    for (const MemoryAccess& access : task.accesses()) {
        const auto memory = device_memory_at(access.data, 1);
        if (memory && memory->device >= 0 && memory->device != device)
            refuse(ACL_ERROR_RT_PARAM_INVALID, access.name, text("memory of device ", device, ", as the stream is"),
                   text("memory of device ", memory->device));
    }
}

static void create_stream(aclrtStream* stream) {
    require_pointer("stream", stream);
    *stream = streams().add(std::make_shared<Stream>(current_device().index()));
}

static void destroy_stream(aclrtStream handle) {
    if (const auto captured = streams().find(handle)) require_waitable(*captured);
    const auto stream = streams().remove(handle);
    if (stream == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "stream", "a live stream", text(handle));
    stream->wait(Stream::kForever);
    if (const auto failure = stream->failure()) print_unreported(*stream, failure->error(), "is destroyed");
}

static TraceDetails arguments_of_created(const aclrtStream* stream) {
    TraceDetails details;
    if (stream != nullptr && *stream != nullptr) (void)details.on(*stream);
    return details;
}

void end_streams_at_exit() {
    static const int registered = std::atexit(end_all_streams);
    (void)registered;
}

const std::shared_ptr<Stream>& default_stream_of(const Device& device) {
    static const auto* const once = [] {
        auto* all = new std::vector<std::shared_ptr<Stream>>;
        for (int index = 0; index < device_count(); ++index) all->push_back(std::make_shared<Stream>(index, true));
        return all;
    }();
    return (*once)[static_cast<size_t>(device.index())];
}

std::vector<std::shared_ptr<Stream>> streams_of(const Device& device) {
    std::vector<std::shared_ptr<Stream>> found{default_stream_of(device)};
    for (auto& stream : streams().all())
        if (stream->device() == device.index()) found.push_back(std::move(stream));
    return found;
}

std::shared_ptr<Stream> find_stream(aclrtStream handle) {
    require_not_forked();
    if (handle == nullptr) return default_stream_of(current_device());
    auto stream = streams().find(handle);
    if (stream == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, "stream", "null or a live stream", text(handle));
    return stream;
}

std::shared_ptr<Stream> find_usable_stream(aclrtStream handle) {
    auto stream = find_stream(handle);
    if (find_device("stream's device", stream->device()).is_reset())
        refuse(ACL_ERROR_RT_CONTEXT_NULL, "stream", "a stream of a device in use",
               text("one of device ", stream->device(), ", which has been reset"));
    return stream;
}

void enqueue(aclrtStream handle, Task& task) {
    const auto stream = find_usable_stream(handle);
    require_memory_of(stream->device(), task);
    stream->submit(task);
}

void enqueue_and_wait(aclrtStream handle, Task& task) {
    const auto stream = find_usable_stream(handle);
    require_memory_of(stream->device(), task);
    stream->submit(task);
    (void)stream->wait(Stream::kForever);
}

TraceDetails& TraceDetails::on(aclrtStream stream_handle) {
    arguments.add("stream", static_cast<const void*>(stream_handle));
    try {
        const auto found = find_stream(stream_handle);
        device = found->device();
        stream = found->id();
    } catch (const Error&) {
        // The call's own code tells of the failure.
    }
    return *this;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtCreateStream(aclrtStream* stream) {
    return traced(can_fail(__func__), [&] { return arguments_of_created(stream); }, [&] { create_stream(stream); });
}

// Priority and flags are hints about scheduling; the engine has one way to schedule.
extern "C" aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    return traced(
        can_fail(__func__), [&] { return arguments_of_created(stream).add("priority", priority).add("flag", flag); },
        [&] { create_stream(stream); });
}

extern "C" aclError aclrtDestroyStream(aclrtStream stream) {
    return traced(__func__, call_arguments().on(stream), [&] { destroy_stream(stream); });
}

// Work that has begun cannot be abandoned on a CPU, so this waits for it as aclrtDestroyStream does.
extern "C" aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return traced(__func__, call_arguments().on(stream), [&] { destroy_stream(stream); });
}

extern "C" aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    return write_result(can_fail(__func__), "status", status, [&] {
        const auto stream = find_stream(handle);
        require_waitable(*stream);
        return stream->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    });
}

extern "C" aclError aclrtStreamGetId(aclrtStream handle, int32_t* streamId) {
    return write_result(__func__, "streamId", streamId, [&] { return find_stream(handle)->id(); });
}
