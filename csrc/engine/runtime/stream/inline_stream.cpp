// The only kind of stream so far: a task runs at once, on the thread that launches it, while the stream's lock keeps the order of
// several launching threads.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

std::shared_ptr<Failure> make_failure(const Task& task, aclError code, const char* what) {
    watch_for_lost_failures();
    const std::string message = what;
    const bool named = message.find(task.name()) != std::string::npos;
    return std::make_shared<Failure>(code, named ? message : text(task.name(), ": ", message));
}

class InlineStream : public Stream {
   public:
    using Stream::Stream;

    void submit(Task& task) noexcept override {
        {
            std::lock_guard<Lock> lock(running_);
            if (pending_failure() == nullptr) {
                trace_task(task, "");
                run(task);
            } else {
                failure_->add_concerned(task.origin());
                trace_task(task, ", skipped: it comes after a failure");
            }
        }
        task.finish();
    }

    void record(Event& event) override {
        std::lock_guard<Lock> lock(running_);
        event.complete(pending_failure());
    }

    // An event that has been recorded is complete: its stream ran inline too.
    void wait_for(Event& event) override {
        std::lock_guard<Lock> lock(running_);
        const auto failure = event.failure();
        if (pending_failure() == nullptr && failure != nullptr && failure->pending()) replace_failure(failure);
    }

    bool wait(int milliseconds) override {
        std::unique_lock<Lock> lock(running_, std::defer_lock);
        if (milliseconds >= 0) return lock.try_lock_for(std::chrono::milliseconds(milliseconds));
        lock.lock();
        return true;
    }

    bool idle() override { return std::unique_lock<Lock>(running_, std::try_to_lock).owns_lock(); }

    std::shared_ptr<Failure> failure() override {
        std::lock_guard<Lock> lock(running_);
        return failure_ != nullptr && failure_->concerns_caller() ? failure_ : nullptr;
    }

   private:
    // Recursive: a host callback may launch work on the stream it runs on.
    using Lock = std::recursive_timed_mutex;

    std::shared_ptr<Failure> pending_failure() const { return failure_ != nullptr && failure_->pending() ? failure_ : nullptr; }

    void replace_failure(std::shared_ptr<Failure> failure) {
        if (failure_ != nullptr) failure->inherit(*failure_);
        failure_ = std::move(failure);
    }

    void fail_with(const Task& task, aclError code, const char* what) {
        const auto failure = make_failure(task, code, what);
        failure->add_concerned(task.origin());
        replace_failure(failure);
    }

    void run(Task& task) noexcept {
        try {
            try {
                task.run();
            } catch (const TaskError& error) {
                fail_with(task, error.code(), error.what());
            } catch (const std::exception& error) {
                fail_with(task, ACL_ERROR_RT_AICORE_EXCEPTION, error.what());
            } catch (...) {
                fail_with(task, ACL_ERROR_RT_AICORE_EXCEPTION, "unknown exception");
            }
        } catch (...) {
            // Not even the record of a failure fits in memory. To go on would be to lose it.
            std::fprintf(stderr, "torch_aclnn: %s failed and the machine has no memory left to keep the reason\n", task.name());
            std::abort();
        }
    }

    void trace_task(const Task& task, const char* note) const noexcept {
        if (!tracing()) return;
        try {
            trace(text("task ", task.name(), " on stream ", id(), " of device ", device(), note));
        } catch (...) {
            // A line that cannot be formatted is not worth a failure.
        }
    }

    Lock running_;
    std::shared_ptr<Failure> failure_;
};

}  // namespace

std::shared_ptr<Stream> make_stream(int device) {
    static std::atomic<int> next_id{0};
    return std::make_shared<InlineStream>(device, next_id.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace torch_aclnn::host
