// What can be asked of an event: its status and its time.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {
namespace {

using Milliseconds = std::chrono::duration<float, std::milli>;

std::shared_ptr<Event> find_timed_event(aclrtEvent handle, const char* parameter = "event") {
    auto event = find_event(handle, parameter);
    require_waitable(*event);
    if (!event->timed()) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "an event with ACL_EVENT_TIME_LINE", "one without");
    if (!event->recorded()) refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "a recorded event", "one that has not been recorded");
    if (!event->reached())
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "an event that has been reached", "one after work that is not done");
    return event;
}

// Tells the program whether the event is over. It may rely on that, so what it does next is ordered after the event.
bool is_known_to_be_over(const Event& event) {
    require_waitable(event);
    if (!event.reached()) return false;
    order_program_after(event.clock());
    return true;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return guarded(can_fail(__func__), [&] {
        require_pointer("status", status);
        *status = is_known_to_be_over(*find_event(event)) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
}

extern "C" aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    return guarded(can_fail(__func__), [&] {
        require_pointer("status", status);
        *status = is_known_to_be_over(*find_resettable_event(event)) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    });
}

// A wait that was accepted is over when the event is reached: aclrtStreamWaitEvent only takes events that have been recorded.
extern "C" aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    return guarded(can_fail(__func__), [&] {
        require_pointer("status", status);
        const auto found = find_resettable_event(event);
        *status = (!found->recorded() && found->captured() == nullptr) || is_known_to_be_over(*found) ? ACL_EVENT_WAIT_STATUS_COMPLETE
                                                                                                      : ACL_EVENT_WAIT_STATUS_NOT_READY;
    });
}

extern "C" aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return guarded(__func__, [&] {
        require_pointer("ms", ms);
        const auto start = find_timed_event(startEvent, "startEvent"), end = find_timed_event(endEvent, "endEvent");
        *ms = std::chrono::duration_cast<Milliseconds>(end->time() - start->time()).count();
    });
}

// Microseconds of a steady clock with an arbitrary origin.
extern "C" aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    return guarded(__func__, [&] {
        require_pointer("timestamp", timestamp);
        const auto since = find_timed_event(event)->time().time_since_epoch();
        *timestamp = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
    });
}
