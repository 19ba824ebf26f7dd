// The handles of events, their records, and what can be asked of them: a status and a time.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                 ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

constexpr auto& events = lasting<HandleTable<Event>, HandleKind::event>;

static void list_leaked_events(LeakList& list) {
    events().for_each(
        [&](const void* handle, const Event& event) { list.add("destroyed", "event", text("event ", handle), event.made_at()); });
}
const bool leaked_events_are_listed = (add_leak_report(list_leaked_events), true);

static void create_event(aclrtEvent* event, uint32_t flag, bool reusable) {
    require_not_forked();
    require_pointer("event", event);
    if ((flag & ~kKnownFlags) != 0)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", text("documented bits (", kKnownFlags, ")"), std::to_string(flag));
    if ((flag & ACL_EVENT_IPC) != 0)
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "flag", "no ACL_EVENT_IPC (events between processes), which is not supported",
               std::to_string(flag));
    *event = events().add(std::make_shared<Event>(flag, reusable));
}

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

using Milliseconds = std::chrono::duration<float, std::milli>;

static std::shared_ptr<Event> find_timed_event(aclrtEvent handle, const char* parameter = "event") {
    auto event = find_event(handle, parameter);
    require_waitable(*event);
    if (!event->timed()) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "an event with ACL_EVENT_TIME_LINE", "one without");
    if (!event->recorded()) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "a recorded event", "one that has not been recorded");
    if (!event->reached())
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "an event that has been reached", "one after work that is not done");
    return event;
}

// Tells the program whether the event is over. The program may rely on that, so what it does next is ordered after the event.
static bool is_known_to_be_over(const Event& event) {
    require_waitable(event);
    if (!event.reached()) return false;
    order_program_after(event.clock());
    return true;
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Without flags an event can do everything, timing included.
extern "C" aclError aclrtCreateEvent(aclrtEvent* event) {
    return traced(can_fail(__func__), call_arguments("event", value_at(event)),
                  [&] { create_event(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, false); });
}

extern "C" aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(can_fail(__func__), call_arguments("event", value_at(event), "flag", flag), [&] { create_event(event, flag, false); });
}

extern "C" aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return traced(can_fail(__func__), call_arguments("event", value_at(event), "flag", flag), [&] { create_event(event, flag, true); });
}

extern "C" aclError aclrtDestroyEvent(aclrtEvent event) {
    return traced(__func__, call_arguments("event", event), [&] {
        (void)find_event(event);
        events().remove(event);
    });
}

extern "C" aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("event", event).on(stream), [&] {
        const auto found = find_event(event);
        find_stream(stream)->record(*found);
    });
}

extern "C" aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("event", event).on(stream), [&] {
        const auto found = find_resettable_event(event);
        const auto where = find_stream(stream);
        require_waitable(*where);
        where->wait(Stream::kForever);
        found->reset();
    });
}

extern "C" aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return traced(can_fail(__func__), call_arguments("event", event).on(stream), [&] {
        const auto found = find_event(event);
        const auto where = find_stream(stream);
        if (const auto point = found->captured()) return point->hold_up(where);
        if (found->recorded()) return where->wait_for(*found);
        if (found->reusable()) return;  // nothing to wait for yet
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "event",
               "a recorded event, as a record that never comes would hold up the stream for ever", "one that has not been recorded");
    });
}

extern "C" aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return traced(can_fail(__func__), call_arguments("event", event), [&] {
        const auto found = find_event(event);
        require_waitable(*found);
        const StreamClock clock = found->clock();
        (void)found->pending().wait_until(Event::Clock::time_point::max());
        order_program_after(clock);
        const auto failure = found->failure();
        if (failure != nullptr && failure->claim()) throw failure->error();
    });
}

extern "C" aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return write_result(can_fail(__func__), "status", status, [&] {
        return is_known_to_be_over(*find_event(event)) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
}

extern "C" aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    return write_result(can_fail(__func__), "status", status, [&] {
        return is_known_to_be_over(*find_resettable_event(event)) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    });
}

// aclrtStreamWaitEvent only takes events that have been recorded, so a wait that was accepted is over when the event is reached.
extern "C" aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    return write_result(can_fail(__func__), "status", status, [&] {
        const auto found = find_resettable_event(event);
        return (!found->recorded() && found->captured() == nullptr) || is_known_to_be_over(*found) ? ACL_EVENT_WAIT_STATUS_COMPLETE
                                                                                                   : ACL_EVENT_WAIT_STATUS_NOT_READY;
    });
}

extern "C" aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return write_result(__func__, "ms", ms, [&] {
        const auto start = find_timed_event(startEvent, "startEvent"), end = find_timed_event(endEvent, "endEvent");
        return std::chrono::duration_cast<Milliseconds>(end->time() - start->time()).count();
    });
}

// The times are microseconds of a steady clock with an arbitrary origin.
extern "C" aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    return write_result(__func__, "timestamp", timestamp, [&] {
        const auto since = find_timed_event(event)->time().time_since_epoch();
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
    });
}
