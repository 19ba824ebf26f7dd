// Streams: tasks in order, and the failure of one kept until it has been reported.
#pragma once

#include "engine/runtime/config/config.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/stream/completion.h"
#include "engine/runtime/stream/failure.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

class DeferredTask;
class Device;
class Event;
class Recorder;
class StreamWorker;

// A task runs at once, on the thread that launches it, while the stream's lock keeps the order of several launching threads; or, with
// TORCH_ACLNN_HOST_MODE=async, later, on the stream's own thread. A deferred one is run by another thread; a task that is launched after it
// waits for it.
class Stream : public std::enable_shared_from_this<Stream> {
   public:
    static constexpr auto kForever = Completion::Clock::time_point::max();

    explicit Stream(int device, bool is_default = false);
    Stream(const Stream&) = delete;
    ~Stream();
    Stream& operator=(const Stream&) = delete;

    int device() const { return device_; }
    int id() const { return id_; }
    bool is_default() const { return is_default_; }
    const CallStack& made_at() const { return made_at_; }
    uint32_t overflow_switch() const { return overflow_switch_; }
    void set_overflow_switch(uint32_t flag) { overflow_switch_ = flag; }
    CoreLimits& core_limits() { return core_limits_; }
    const CoreLimits& core_limits() const { return core_limits_; }

    // Takes the task: run() once, or not at all after a failure; finish() in any case. If it throws, an Error, the task has not been taken.
    void submit(Task& task);
    // Takes a task that deletes itself when it is finished.
    void submit(std::unique_ptr<Task> task) {
        submit(*task);
        (void)task.release();
    }
    void submit_waiting(WaitingTask& task);
    // Takes, without a recorder, a task whose order with others (stream_order.h) the caller has noted: it runs here and now, or on the
    // stream's own thread.
    void launch(Task& task) { config().asynchronous ? submit_to_worker(task) : run_now(task); }
    void launch_on_worker(Task& task) { submit_to_worker(task); }
    // Returns what keeps the work that is put on the stream instead of running it, or null.
    std::shared_ptr<Recorder> recorder() const;
    // Returns the recorder of work that is to be put on the stream. 107000 if it is the default stream while another of the device is
    // captured.
    std::shared_ptr<Recorder> recorder_of_work() const;
    void set_recorder(std::shared_ptr<Recorder> recorder);
    // Puts a task on the stream that another thread will run; `origin` is the thread that asked for it. Waits for nothing.
    std::unique_ptr<DeferredTask> defer(const char* name, uint64_t origin);
    void record(Event& event);
    // Orders what comes next after the event; what depends on failed work is not run either.
    void wait_for(const Event& event);
    // Ends the stream with the process: waits until the deadline for its thread, and gives up tasks that have not begun.
    void abandon(Completion::Clock::time_point deadline);
    // Waits until all work is done. Returns false if it was not done by the deadline.
    bool wait(Completion::Clock::time_point deadline);
    bool idle();
    // Returns the failure that is to be reported to the calling thread, or null.
    std::shared_ptr<Failure> failure();
    // Throws that failure's error, if there is one.
    void report_failure();
    // Writes the trace's line of a task that began then and has ended; 0 says that it was skipped.
    void trace_end(const char* name, int64_t begin, const Failure* failure) const noexcept;

   private:
    // The lock is recursive, because a host callback may launch work on the stream it runs on.
    using Lock = std::recursive_timed_mutex;

    std::shared_ptr<Failure> pending_failure() const;
    void replace_failure(std::shared_ptr<Failure> failure);
    void submit_to_worker(Task& task);
    void run_now(Task& task);
    StreamWorker& worker();
    void run(Task& task) noexcept;
    void keep_failure(const Task& task, int code, const char* message) noexcept;
    // Takes over how the deferred tasks that are done have ended. The caller holds the lock.
    void settle();
    // Waits for all deferred tasks; the lock is free meanwhile. Returns false if they were not done by the deadline.
    bool await_deferred(std::unique_lock<Lock>& lock, Completion::Clock::time_point deadline);

    const int device_;
    const int id_;
    const bool is_default_;
    std::atomic<uint32_t> overflow_switch_{0};
    CoreLimits core_limits_{};
    Lock running_;
    const std::shared_ptr<Demand> demand_ = std::make_shared<Demand>();
    PendingWork deferred_;
    std::shared_ptr<Failure> failure_;
    std::unique_ptr<StreamWorker> worker_;  // made for the first task
    const CallStack made_at_ = CallStack::for_leaks();
    std::atomic<bool> is_recorded_{false};
    mutable std::mutex recorder_mutex_;
    std::shared_ptr<Recorder> recorder_;
};

int new_stream_number();

// Makes the failure of a task that was launched by the thread `origin`; the process prints it when it ends, unless it has been reported.
std::shared_ptr<Failure> make_failure(int code, const char* message, const char* task, uint64_t origin) noexcept;

// Makes the process wait for its streams at its end, for a limited time, and print failures that were not reported.
void end_streams_at_exit();

const std::shared_ptr<Stream>& default_stream_of(const Device& device);
// Returns all streams of a device, its default stream first.
std::vector<std::shared_ptr<Stream>> streams_of(const Device& device);

// Returns the stream behind the handle; null means the current device's default stream. 107017 if there is none, 107002 without a device.
std::shared_ptr<Stream> find_stream(aclrtStream handle);

// Returns the stream if its device has not been reset.
std::shared_ptr<Stream> find_usable_stream(aclrtStream handle);

}  // namespace torch_aclnn::host
