#include "engine/runtime/stream/event.h"

#include "engine/runtime/error/call.h"
#include "engine/runtime/registry.h"

namespace torch_aclnn::host {
namespace {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                 ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

// Never destroyed: calls still come while the process exits.
Registry<Event>& events() {
    static auto* const once = new Registry<Event>(HandleKind::event);
    return *once;
}

aclError create_event(const char* function, aclrtEvent* event, uint32_t flags, bool reusable) {
    if (event == nullptr) return fail_null(function, "event");
    if ((flags & ~kKnownFlags) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": flag must be made of documented bits (", kKnownFlags, "), got ", flags));
    }
    if ((flags & ACL_EVENT_IPC) != 0) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text(function, ": flag ACL_EVENT_IPC (events between processes) is not supported"));
    }
    *event = events().add(std::make_shared<Event>(flags, reusable));
    return ACL_SUCCESS;
}

// What only the events of aclrtCreateEvent and aclrtCreateEventWithFlag can do.
aclError refuse_reusable(const char* function, const Event& event) {
    if (!event.reusable()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                text(function, ": event must not come from aclrtCreateEventExWithFlag, whose events only have a recorded status"));
}

}  // namespace

aclError find_event(const char* function, const char* parameter, aclrtEvent handle, std::shared_ptr<Event>& event) {
    if (handle == nullptr) return fail_null(function, parameter);
    event = events().find(handle);
    if (event != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, text(function, ": ", parameter, " must be a live event, got ", handle));
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Without flags an event can do everything, timing included.
extern "C" aclError aclrtCreateEvent(aclrtEvent* event) {
    return traced(
        __func__, [&](const char* function) { return create_event(function, event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, false); },
        [&] { return text(event ? *event : nullptr); });
}

extern "C" aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(
        __func__, [&](const char* function) { return create_event(function, event, flag, false); },
        [&] { return text(event ? *event : nullptr, ", flag ", flag); });
}

extern "C" aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(
        __func__, [&](const char* function) { return create_event(function, event, flag, true); },
        [&] { return text(event ? *event : nullptr, ", flag ", flag); });
}

extern "C" aclError aclrtDestroyEvent(aclrtEvent event) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            std::shared_ptr<Event> found;
            if (aclError code = find_event(function, "event", event, found)) return code;
            events().remove(event);
            return ACL_SUCCESS;
        },
        [&] { return text(event); });
}

extern "C" aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            std::shared_ptr<Event> found;
            if (aclError code = find_event(function, "event", event, found)) return code;
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            where->record(*found);
            return ACL_SUCCESS;
        },
        [&] { return text(event, ", stream ", stream); });
}

extern "C" aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            std::shared_ptr<Event> found;
            if (aclError code = find_event(function, "event", event, found)) return code;
            if (aclError code = refuse_reusable(function, *found)) return code;
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            where->wait(Stream::kForever);
            found->reset();
            return ACL_SUCCESS;
        },
        [&] { return text(event, ", stream ", stream); });
}

extern "C" aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            std::shared_ptr<Event> found;
            if (aclError code = find_event(function, "event", event, found)) return code;
            std::shared_ptr<Stream> where;
            if (aclError code = find_stream(function, stream, where)) return code;
            if (!found->recorded()) {
                if (found->reusable()) return ACL_SUCCESS;  // nothing to wait for yet
                return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                            text(function,
                                 ": event must have been recorded; the host engine runs work as it is launched and cannot wait "
                                 "for a record that comes later"));
            }
            where->wait_for(*found);
            return ACL_SUCCESS;
        },
        [&] { return text(stream, ", event ", event); });
}

extern "C" aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            std::shared_ptr<Event> found;
            if (aclError code = find_event(function, "event", event, found)) return code;
            const auto failure = found->failure();
            return failure == nullptr ? ACL_SUCCESS : failure->tell();
        },
        [&] { return text(event); });
}
