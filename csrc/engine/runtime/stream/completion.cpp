#include "engine/runtime/stream/completion.h"

#include <algorithm>

#include "engine/runtime/stream/interpreter.h"

namespace torch_aclnn::host {

void Demand::raise_to(uint64_t launch) {
    uint64_t before = demanded_;
    while (before < launch && !demanded_.compare_exchange_weak(before, launch)) {
    }
}

void Completion::finish(std::shared_ptr<Failure> failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    time_ = Clock::now();
    failure_ = std::move(failure);
    finished_.notify_all();
}

bool Completion::done() const {
    demand_->raise_to(launch_);
    const std::lock_guard<std::mutex> lock(mutex_);
    return done_;
}

bool Completion::wait_until(Clock::time_point deadline) const {
    if (done()) return true;
    const WithoutInterpreter without;
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_done = [this] { return done_; };
    if (deadline != Clock::time_point::max()) return finished_.wait_until(lock, deadline, is_done);
    finished_.wait(lock, is_done);
    return true;
}

std::shared_ptr<Failure> Completion::failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
}

Completion::Clock::time_point Completion::time() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return time_;
}

void PendingWork::add(const PendingWork& other) {
    for (const auto& completion : other.completions_)
        if (std::find(completions_.begin(), completions_.end(), completion) == completions_.end()) completions_.push_back(completion);
}

bool PendingWork::done() const {
    return std::all_of(completions_.begin(), completions_.end(), [](const auto& completion) { return completion->done(); });
}

bool PendingWork::wait_until(Clock::time_point deadline) const {
    return std::all_of(completions_.begin(), completions_.end(),
                       [deadline](const auto& completion) { return completion->wait_until(deadline); });
}

std::shared_ptr<Failure> PendingWork::failure() const {
    for (const auto& completion : completions_) {
        auto failure = completion->failure();
        if (failure != nullptr) return failure;
    }
    return nullptr;
}

PendingWork::Clock::time_point PendingWork::time() const {
    Clock::time_point latest{};
    for (const auto& completion : completions_) latest = std::max(latest, completion->time());
    return latest;
}

void PendingWork::forget_done() {
    const auto is_done = [](const auto& completion) { return completion->done(); };
    completions_.erase(std::remove_if(completions_.begin(), completions_.end(), is_done), completions_.end());
}

Completion::Clock::time_point deadline_after(int milliseconds) {
    return milliseconds < 0 ? Completion::Clock::time_point::max() : Completion::Clock::now() + std::chrono::milliseconds(milliseconds);
}

}  // namespace torch_aclnn::host
