#include "engine/runtime/stream/stream.h"

#include <cstdio>
#include <cstdlib>

#include "engine/runtime/diagnostics/task_watch.h"
#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/stream/active_capture.h"
#include "engine/runtime/stream/deferred_task.h"
#include "engine/runtime/stream/dry_run.h"
#include "engine/runtime/stream/event.h"
#include "engine/runtime/stream/interpreter.h"
#include "engine/runtime/stream/recorder.h"
#include "engine/runtime/stream/stream_order.h"
#include "engine/runtime/stream/worker.h"

namespace torch_aclnn::host {

Stream::Stream(int device, bool is_default) : device_(device), id_(new_stream_number()), is_default_(is_default) {}

Stream::~Stream() = default;

std::shared_ptr<Recorder> Stream::recorder() const {
    if (!is_recorded_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard<std::mutex> lock(recorder_mutex_);
    return recorder_;
}

std::shared_ptr<Recorder> Stream::recorder_of_work() const {
    if (is_default_) require_no_capture_on(device_);
    return recorder();
}

void Stream::set_recorder(std::shared_ptr<Recorder> recorder) {
    const std::lock_guard<std::mutex> lock(recorder_mutex_);
    recorder_.swap(recorder);
    is_recorded_.store(recorder_ != nullptr, std::memory_order_release);
}

void Stream::submit(Task& task) {
    if (const auto recorder = recorder_of_work()) return recorder->take(*this, task);
    if (config().check_streams) order_launch(id_, task.name(), task.accesses(), task.asked_at());
    launch(task);
}

void Stream::submit_waiting(WaitingTask& task) {
    if (const auto recorder = recorder_of_work()) return recorder->take(*this, task);
    submit_to_worker(task);
}

void Stream::run_now(Task& task) {
    {
        std::unique_lock<Lock> lock(running_);
        (void)await_deferred(lock, kForever);
        if (pending_failure() == nullptr) {
            const int64_t begin = watching_tasks() ? trace_clock() : 0;
            run(task);
            if (begin != 0) trace_end(task.name(), begin, pending_failure().get());
        } else {
            failure_->add_affected(task.origin());
            if (watching_tasks()) trace_end(task.name(), 0, failure_.get());
        }
    }
    task.finish();
}

void Stream::submit_to_worker(Task& task) {
    StreamWorker& thread = worker();
    thread.await_room();  // outside the lock, which the running task may need
    std::unique_lock<Lock> lock(running_);
    auto place = defer(task.name(), task.origin());
    const auto completion = place->completion();
    thread.push(std::move(place), task);
    lock.unlock();
    if (config().delay_seed != 0) thread.wait_by_chance(*completion);
}

StreamWorker& Stream::worker() {
    const std::lock_guard<Lock> lock(running_);
    if (worker_ == nullptr) {
        worker_ = std::make_unique<StreamWorker>(id_, demand_);
        end_streams_at_exit();
    }
    return *worker_;
}

void Stream::abandon(Completion::Clock::time_point deadline) {
    if (worker_ != nullptr) worker_->abandon(deadline);
}

std::unique_ptr<DeferredTask> Stream::defer(const char* name, uint64_t origin) {
    std::lock_guard<Lock> lock(running_);
    settle();
    const auto completion = std::make_shared<Completion>(demand_);
    auto task = std::make_unique<DeferredTask>(shared_from_this(), name, origin, deferred_, pending_failure(), completion);
    // The new task waits for those before it, so waiting for it is enough.
    deferred_.clear();
    deferred_.add(completion);
    return task;
}

void Stream::record(Event& event) {
    if (const auto recorder = recorder_of_work()) return recorder->record(*this, event);
    std::lock_guard<Lock> lock(running_);
    settle();
    event.complete(pending_failure(), deferred_, order_so_far(id_));
}

void Stream::wait_for(const Event& event) {
    if (const auto recorder = recorder_of_work()) return recorder->wait_for(*this, event);
    std::lock_guard<Lock> lock(running_);
    settle();
    deferred_.add(event.pending());
    order_after(id_, event.clock());
    const auto failure = event.failure();
    if (pending_failure() == nullptr && failure != nullptr && failure->pending()) replace_failure(failure);
}

bool Stream::wait(Completion::Clock::time_point deadline) {
    std::unique_lock<Lock> lock(running_, std::try_to_lock);
    if (!lock.owns_lock()) {
        const WithoutInterpreter without;
        if (deadline == kForever) lock.lock();
        if (!lock.owns_lock() && !lock.try_lock_until(deadline)) return false;
    }
    const StreamClock clock = order_so_far(id_);  // later launches are not waited for
    if (!await_deferred(lock, deadline)) return false;
    order_program_after(clock);
    return true;
}

bool Stream::idle() {
    const std::unique_lock<Lock> lock(running_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    settle();
    if (!deferred_.empty()) return false;
    order_program_after(order_so_far(id_));
    return true;
}

std::shared_ptr<Failure> Stream::failure() {
    std::lock_guard<Lock> lock(running_);
    settle();
    return failure_ != nullptr && failure_->is_due() ? failure_ : nullptr;
}

void Stream::report_failure() {
    const auto due = failure();
    if (due != nullptr && due->claim()) throw due->error();
}

std::shared_ptr<Failure> Stream::pending_failure() const {
    return failure_ != nullptr && failure_->pending() ? failure_ : nullptr;
}

void Stream::replace_failure(std::shared_ptr<Failure> failure) {
    if (failure_ != nullptr) failure->inherit(*failure_);
    failure_ = std::move(failure);
}

void Stream::run(Task& task) noexcept {
    try {
        task_may_fail(task.name(), id_, device_);
        perform(task);
    } catch (const Error& error) {
        keep_failure(task, error.code(), error.what());
    } catch (const std::exception& error) {
        keep_failure(task, ACL_ERROR_RT_AICORE_EXCEPTION, error.what());
    } catch (...) {
        keep_failure(task, ACL_ERROR_RT_AICORE_EXCEPTION, "unknown exception");
    }
}

void Stream::keep_failure(const Task& task, int code, const char* message) noexcept {
    replace_failure(make_failure(code, message, task.name(), task.origin()));
}

void Stream::settle() {
    if (deferred_.empty()) return;
    PendingWork waiting = deferred_;
    waiting.forget_done();
    const auto failure = deferred_.failure();
    if (failure != nullptr && failure != failure_ && pending_failure() == nullptr) replace_failure(failure);
    deferred_ = std::move(waiting);
}

bool Stream::await_deferred(std::unique_lock<Lock>& lock, Completion::Clock::time_point deadline) {
    settle();
    while (!deferred_.empty()) {
        const PendingWork waiting = deferred_;
        lock.unlock();
        const bool done = waiting.wait_until(deadline);
        lock.lock();
        settle();
        if (!done) return false;
    }
    return true;
}

void Stream::trace_end(const char* name, int64_t begin, const Failure* failure) const noexcept {
    if (failure == nullptr) return trace_task(name, device(), id(), begin, ACL_SUCCESS, "");
    trace_task(name, device(), id(), begin, failure->error().code(), failure->error().what());
}

int new_stream_number() {
    static std::atomic<int> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<Failure> make_failure(int code, const char* message, const char* task, uint64_t origin) noexcept {
    try {
        end_streams_at_exit();
        auto failure = std::make_shared<Failure>(Error(code, message, task));
        failure->add_affected(origin);
        return failure;
    } catch (...) {
        // Not even the record of a failure fits in memory, and going on would lose it.
        std::fprintf(stderr, "torch_aclnn: %s failed and the machine has no memory left to keep the reason\n", task);
        std::abort();
    }
}

}  // namespace torch_aclnn::host
