#include "engine/runtime/stream/stream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engine/runtime/stream/event.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

int next_id() {
    static std::atomic<int> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Stream::Stream(int device) : device_(device), id_(next_id()) {}

void Stream::submit(Task& task) noexcept {
    {
        std::lock_guard<Lock> lock(running_);
        if (pending_failure() == nullptr) {
            trace_task(task, "");
            run(task);
        } else {
            failure_->add_affected(task.origin());
            trace_task(task, ", skipped: it comes after a failure");
        }
    }
    task.finish();
}

void Stream::record(Event& event) {
    std::lock_guard<Lock> lock(running_);
    event.complete(pending_failure());
}

// An event that has been recorded is complete: its stream ran its tasks at once too.
void Stream::wait_for(const Event& event) {
    std::lock_guard<Lock> lock(running_);
    const auto failure = event.failure();
    if (pending_failure() == nullptr && failure != nullptr && failure->pending()) replace_failure(failure);
}

bool Stream::wait(int milliseconds) {
    std::unique_lock<Lock> lock(running_, std::defer_lock);
    if (milliseconds >= 0) return lock.try_lock_for(std::chrono::milliseconds(milliseconds));
    lock.lock();
    return true;
}

bool Stream::idle() {
    return std::unique_lock<Lock>(running_, std::try_to_lock).owns_lock();
}

std::shared_ptr<Failure> Stream::failure() {
    std::lock_guard<Lock> lock(running_);
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
        task.run();
    } catch (const Error& error) {
        keep_failure(task, error.code(), error.what());
    } catch (const std::exception& error) {
        keep_failure(task, ACL_ERROR_RT_AICORE_EXCEPTION, error.what());
    } catch (...) {
        keep_failure(task, ACL_ERROR_RT_AICORE_EXCEPTION, "unknown exception");
    }
}

void Stream::keep_failure(const Task& task, int code, const char* message) noexcept {
    try {
        print_unreported_failures_at_exit();
        const auto failure = std::make_shared<Failure>(Error(code, message, task.name()));
        failure->add_affected(task.origin());
        replace_failure(failure);
    } catch (...) {
        // Not even the record of a failure fits in memory. To go on would be to lose it.
        std::fprintf(stderr, "torch_aclnn: %s failed and the machine has no memory left to keep the reason\n", task.name());
        std::abort();
    }
}

void Stream::trace_task(const Task& task, const char* note) const noexcept {
    if (!tracing()) return;
    try {
        trace(text("task ", task.name(), " on stream ", id(), " of device ", device(), note));
    } catch (...) {
        // A line that cannot be formatted is not worth a failure.
    }
}

}  // namespace torch_aclnn::host
