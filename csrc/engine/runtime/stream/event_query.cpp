// What can be asked of an event: its status and its time.

#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/event.h"

namespace torch_aclnn::host {
namespace {

using Milliseconds = std::chrono::duration<float, std::milli>;

aclError find_timed_event(const char* function, const char* parameter, aclrtEvent handle, std::shared_ptr<Event>& event) {
    if (aclError code = find_event(function, parameter, handle, event)) return code;
    if (!event->timed()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": ", parameter, " must be created with ACL_EVENT_TIME_LINE"));
    }
    if (!event->recorded()) return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": ", parameter, " has not been recorded"));
    return ACL_SUCCESS;
}

aclError find_classic_event(const char* function, aclrtEvent handle, std::shared_ptr<Event>& event) {
    if (aclError code = find_event(function, "event", handle, event)) return code;
    if (!event->reusable()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                text(function, ": event must not come from aclrtCreateEventExWithFlag; ask aclrtQueryEventStatus"));
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (status == nullptr) return fail_null(function, "status");
        std::shared_ptr<Event> found;
        if (aclError code = find_event(function, "event", event, found)) return code;
        *status = found->recorded() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (status == nullptr) return fail_null(function, "status");
        std::shared_ptr<Event> found;
        if (aclError code = find_classic_event(function, event, found)) return code;
        *status = found->recorded() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

// A wait that was accepted is over: aclrtStreamWaitEvent only takes events that have been reached.
extern "C" aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (status == nullptr) return fail_null(function, "status");
        std::shared_ptr<Event> found;
        if (aclError code = find_classic_event(function, event, found)) return code;
        *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (ms == nullptr) return fail_null(function, "ms");
        std::shared_ptr<Event> start;
        if (aclError code = find_timed_event(function, "start", startEvent, start)) return code;
        std::shared_ptr<Event> end;
        if (aclError code = find_timed_event(function, "end", endEvent, end)) return code;
        *ms = std::chrono::duration_cast<Milliseconds>(end->time() - start->time()).count();
        return ACL_SUCCESS;
    });
}

// Microseconds of a steady clock with an arbitrary origin.
extern "C" aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (timestamp == nullptr) return fail_null(function, "timestamp");
        std::shared_ptr<Event> found;
        if (aclError code = find_timed_event(function, "event", event, found)) return code;
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(found->time().time_since_epoch());
        *timestamp = static_cast<uint64_t>(since.count());
        return ACL_SUCCESS;
    });
}
