// Callbacks that a thread of the program's own runs: it subscribes to streams, and takes one callback of theirs with each call.

#include <pthread.h>

#include <deque>
#include <map>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

struct Report {
    aclrtCallback function;
    void* data;
    bool done = false;
};

// A thread that runs callbacks, with those that it has not taken yet.
class Subscriber {
   public:
    explicit Subscriber(int device) : device_(device) {}

    int device() const { return device_; }

    void add_stream(int change) {
        const std::lock_guard<std::mutex> lock(mutex_);
        stream_count_ += change;
        changed_.notify_all();
    }

    // Whether neither a stream nor a callback is left for the thread.
    bool is_idle() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return stream_count_ == 0 && reports_.empty();
    }

    void post(const std::shared_ptr<Report>& report, bool waits) {
        std::unique_lock<std::mutex> lock(mutex_);
        reports_.push_back(report);
        changed_.notify_all();
        if (waits) changed_.wait(lock, [&] { return report->done; });
    }

    // Returns null if no callback came in time, or the last stream left.
    std::shared_ptr<Report> take(int milliseconds) {
        std::unique_lock<std::mutex> lock(mutex_);
        const auto may_go_on = [this] { return !reports_.empty() || stream_count_ == 0; };
        if (milliseconds < 0)
            changed_.wait(lock, may_go_on);
        else
            changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), may_go_on);
        if (reports_.empty()) return nullptr;
        auto report = std::move(reports_.front());
        reports_.pop_front();
        return report;
    }

    void end(Report& report) {
        const std::lock_guard<std::mutex> lock(mutex_);
        report.done = true;
        changed_.notify_all();
    }

   private:
    const int device_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Report>> reports_;
    int stream_count_ = 0;
};

// The thread that runs the callbacks of each stream.
class Subscriptions {
   public:
    void add(uint64_t thread, const Stream& stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (threads_.count(stream.id()) != 0)
            refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream", "a stream without a thread for its callbacks", text("stream ", stream.id()));
        auto& found = subscribers_[thread];
        if (found == nullptr || found->is_idle()) found = std::make_shared<Subscriber>(stream.device());
        if (found->device() != stream.device())
            refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "threadId", text("a thread for streams of device ", stream.device()),
                   text("one for streams of device ", found->device()));
        threads_[stream.id()] = thread;
        found->add_stream(1);
    }

    void remove(uint64_t thread, const Stream& stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = threads_.find(stream.id());
        if (found == threads_.end())
            refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream", "a stream with a thread for its callbacks", text("stream ", stream.id()));
        if (found->second != thread)
            refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "threadId", text("the thread of the stream, ", found->second), std::to_string(thread));
        threads_.erase(found);
        subscribers_[thread]->add_stream(-1);
    }

    std::shared_ptr<Subscriber> of_stream(const Stream& stream) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = threads_.find(stream.id());
        if (found == threads_.end())
            refuse(ACL_ERROR_RT_STREAM_NO_CB_REG, "stream", "a stream with a thread for its callbacks", text("stream ", stream.id()));
        return subscribers_.at(found->second);
    }

    std::shared_ptr<Subscriber> of_thread(uint64_t thread) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = subscribers_.find(thread);
        if (found == subscribers_.end() || found->second->is_idle())
            throw Error(ACL_ERROR_RT_THREAD_SUBSCRIBE, "no stream has this thread for its callbacks");
        return found->second;
    }

   private:
    mutable std::mutex mutex_;
    std::map<int, uint64_t> threads_;  // by the stream's number
    std::map<uint64_t, std::shared_ptr<Subscriber>> subscribers_;
};
constexpr auto& subscriptions = lasting<Subscriptions>;

// Hands the callback to its thread. One that blocks keeps the stream until it has run; a graph hands it over at each replay.
class CallbackTask final : public WaitingTask {
   public:
    CallbackTask(aclrtCallback function, void* data, bool blocks, std::shared_ptr<Subscriber> subscriber)
        : WaitingTask("aclrtLaunchCallback"), function_(function), data_(data), blocks_(blocks), subscriber_(std::move(subscriber)) {}
    void run() override { subscriber_->post(std::make_shared<Report>(Report{function_, data_}), blocks_); }

   private:
    const aclrtCallback function_;
    void* const data_;
    const bool blocks_;
    const std::shared_ptr<Subscriber> subscriber_;
};

void launch_callback(aclrtCallback function, void* data, int block_type, aclrtStream handle) {
    require_pointer("fn", reinterpret_cast<const void*>(function));
    if (block_type != ACL_CALLBACK_NO_BLOCK && block_type != ACL_CALLBACK_BLOCK)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "blockType", "0 (the stream goes on) or 1 (it waits)", std::to_string(block_type));
    const bool blocks = block_type == ACL_CALLBACK_BLOCK;
    const auto stream = find_usable_stream(handle);
    auto task = std::make_unique<CallbackTask>(function, data, blocks, subscriptions().of_stream(*stream));
    blocks ? stream->submit_waiting(*task) : stream->submit(*task);
    (void)task.release();  // the stream finishes it
}

void process_report(int32_t timeout) {
    if (timeout != -1 && timeout <= 0)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout", "-1 (forever) or at least 1 ms", std::to_string(timeout));
    const auto subscriber = subscriptions().of_thread(pthread_self());
    const auto report = subscriber->take(timeout);
    if (report == nullptr) {
        (void)subscriptions().of_thread(pthread_self());  // returns 107012 if the last stream left meanwhile
        throw Error(ACL_ERROR_RT_REPORT_TIMEOUT, text("no callback came within ", timeout, " ms"));
    }
    report->function(report->data);
    subscriber->end(*report);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("threadId", threadId).on(stream),
                  [&] { subscriptions().add(threadId, *find_usable_stream(stream)); });
}

extern "C" aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("threadId", threadId).on(stream),
                  [&] { subscriptions().remove(threadId, *find_stream(stream)); });
}

extern "C" aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("blockType", static_cast<int>(blockType)).on(stream),
                  [&] { launch_callback(fn, userData, blockType, stream); });
}

extern "C" aclError aclrtProcessReport(int32_t timeout) {
    return traced(can_fail(__func__), call_arguments("timeout", timeout), [&] { process_report(timeout); });
}
