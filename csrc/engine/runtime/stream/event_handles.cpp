#include "engine/runtime/call/faultable.h"
#include "engine/runtime/call/traced.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {
namespace {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                 ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

// Never destroyed: calls still come while the process exits.
HandleTable<Event>& events() {
    static auto* const once = new HandleTable<Event>(HandleKind::event);
    return *once;
}

void list_leaked_events(LeakList& list) {
    events().for_each(
        [&](const void* handle, const Event& event) { list.add("destroyed", "event", text("event ", handle), event.made_at()); });
}
const bool leaked_events_are_listed = (add_leak_report(list_leaked_events), true);

void create_event(aclrtEvent* event, uint32_t flag, bool reusable) {
    require_not_forked();
    require_pointer("event", event);
    if ((flag & ~kKnownFlags) != 0)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", text("documented bits (", kKnownFlags, ")"), std::to_string(flag));
    if ((flag & ACL_EVENT_IPC) != 0)
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "flag", "no ACL_EVENT_IPC (events between processes), which is not supported",
               std::to_string(flag));
    *event = events().add(std::make_shared<Event>(flag, reusable));
}

}  // namespace

std::shared_ptr<Event> find_event(aclrtEvent handle, const char* parameter) {
    require_pointer(parameter, handle);
    auto event = events().find(handle);
    if (event == nullptr) refuse(ACL_ERROR_RT_INVALID_HANDLE, parameter, "a live event", text(handle));
    return event;
}

std::shared_ptr<Event> find_resettable_event(aclrtEvent handle) {
    auto event = find_event(handle);
    if (event->reusable())
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "event", "one from aclrtCreateEvent or aclrtCreateEventWithFlag",
               "one from aclrtCreateEventExWithFlag, which only has a status for aclrtQueryEventStatus");
    return event;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Without flags an event can do everything, timing included.
extern "C" aclError aclrtCreateEvent(aclrtEvent* event) {
    return traced(
        can_fail(__func__), [&] { create_event(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, false); },
        [&] { return call_arguments("event", value_at(event)); });
}

extern "C" aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(
        can_fail(__func__), [&] { create_event(event, flag, false); },
        [&] { return call_arguments("event", value_at(event), "flag", flag); });
}

extern "C" aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(
        can_fail(__func__), [&] { create_event(event, flag, true); },
        [&] { return call_arguments("event", value_at(event), "flag", flag); });
}

extern "C" aclError aclrtDestroyEvent(aclrtEvent event) {
    return traced(
        __func__,
        [&] {
            (void)find_event(event);
            events().remove(event);
        },
        [&] { return call_arguments("event", event); });
}

extern "C" aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return traced(
        can_fail(__func__),
        [&] {
            const auto found = find_event(event);
            find_stream(stream)->record(*found);
        },
        [&] { return call_arguments("event", event).on(stream); });
}

extern "C" aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return traced(
        can_fail(__func__),
        [&] {
            const auto found = find_resettable_event(event);
            const auto where = find_stream(stream);
            require_waitable(*where);
            where->wait(Stream::kForever);
            found->reset();
        },
        [&] { return call_arguments("event", event).on(stream); });
}

extern "C" aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return traced(
        can_fail(__func__),
        [&] {
            const auto found = find_event(event);
            const auto where = find_stream(stream);
            if (const auto point = found->captured()) return point->hold_up(where);
            if (found->recorded()) return where->wait_for(*found);
            if (found->reusable()) return;  // nothing to wait for yet
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "event",
                   "a recorded event, as a record that never comes would hold up the stream for ever", "one that has not been recorded");
        },
        [&] { return call_arguments("event", event).on(stream); });
}

extern "C" aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return traced(
        can_fail(__func__),
        [&] {
            const auto found = find_event(event);
            require_waitable(*found);
            const StreamClock clock = found->clock();
            (void)found->pending().wait_until(Event::Clock::time_point::max());
            order_program_after(clock);
            const auto failure = found->failure();
            if (failure != nullptr && failure->claim()) throw failure->error();
        },
        [&] { return call_arguments("event", event); });
}
