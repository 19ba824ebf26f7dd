// A point in a stream's work, with the time it was reached.
#pragma once

#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/stream/completion.h"
#include "engine/runtime/stream/stream_clock.h"

namespace torch_aclnn::host {

class CapturedPoint;

class Event {
   public:
    using Clock = PendingWork::Clock;

    // `reusable` events come from aclrtCreateEventExWithFlag: they may be recorded again and again and know no reset.
    Event(uint32_t flags, bool reusable) : flags_(flags), reusable_(reusable) {}

    bool timed() const { return (flags_ & ACL_EVENT_TIME_LINE) != 0; }
    bool reusable() const { return reusable_; }
    const CallStack& made_at() const { return made_at_; }

    // The stream has come here, in good health or with a failure, but for deferred tasks before it.
    void complete(std::shared_ptr<Failure> failure, PendingWork pending, StreamClock clock) {
        std::lock_guard<std::mutex> lock(mutex_);
        captured_ = nullptr;
        recorded_ = true;
        time_ = Clock::now();
        failure_ = std::move(failure);
        pending_ = std::move(pending);
        clock_ = std::move(clock);
    }

    void reset() {
        std::lock_guard<std::mutex> lock(mutex_);
        captured_ = nullptr;
        recorded_ = false;
        failure_ = nullptr;
        pending_.clear();
    }

    // The event was recorded in a capture: it is a point of a graph, at which nothing arrives before a replay, and of which a replay tells
    // nobody.
    void capture(std::shared_ptr<const CapturedPoint> point) {
        std::lock_guard<std::mutex> lock(mutex_);
        captured_ = std::move(point);
        recorded_ = false;
        failure_ = nullptr;
        pending_.clear();
    }

    std::shared_ptr<const CapturedPoint> captured() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return captured_;
    }

    bool recorded() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return recorded_;
    }

    // Whether it was recorded, and all work before it is done.
    bool reached() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return recorded_ && pending_.done();
    }

    PendingWork pending() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return pending_;
    }

    // What came before the event, for TORCH_ACLNN_HOST_MODE=check_streams.
    StreamClock clock() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return clock_;
    }

    Clock::time_point time() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::max(time_, pending_.time());
    }

    std::shared_ptr<Failure> failure() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return failure_ != nullptr ? failure_ : pending_.failure();
    }

   private:
    const uint32_t flags_;
    const bool reusable_;
    const CallStack made_at_ = CallStack::for_leaks();
    mutable std::mutex mutex_;
    bool recorded_ = false;
    Clock::time_point time_;
    std::shared_ptr<Failure> failure_;
    PendingWork pending_;
    StreamClock clock_;
    std::shared_ptr<const CapturedPoint> captured_;
};

// Returns the event behind the handle; 107017 if it is not a live one.
std::shared_ptr<Event> find_event(aclrtEvent handle, const char* parameter = "event");

// Returns such an event; 207000 for one from aclrtCreateEventExWithFlag, which cannot do all that the others can.
std::shared_ptr<Event> find_resettable_event(aclrtEvent handle);

}  // namespace torch_aclnn::host
