// Work that another thread does for a stream: what later work, events and synchronisations wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <vector>

#include "engine/runtime/stream/failure.h"

namespace torch_aclnn::host {

// How far a stream's work has been launched, and how far something waits for it.
class Demand {
   public:
    uint64_t next_launch() { return ++launched_; }
    void raise_to(uint64_t launch);
    void raise_to_all() { raise_to(launched_); }
    bool reaches(uint64_t launch) const { return demanded_ >= launch; }

   private:
    std::atomic<uint64_t> launched_{0}, demanded_{0};
};

// One piece of work that another thread does.
class Completion {
   public:
    using Clock = std::chrono::steady_clock;

    explicit Completion(std::shared_ptr<Demand> demand) : demand_(std::move(demand)), launch_(demand_->next_launch()) {}

    // To be called once, with the failure in which the work ended, or null.
    void finish(std::shared_ptr<Failure> failure);

    // Each of these is a demand for the work.
    bool done() const;
    bool wait_until(Clock::time_point deadline) const;
    bool is_demanded() const { return demand_->reaches(launch_); }
    std::shared_ptr<Failure> failure() const;
    Clock::time_point time() const;

   private:
    const std::shared_ptr<Demand> demand_;
    const uint64_t launch_;
    mutable std::mutex mutex_;
    mutable std::condition_variable finished_;
    bool done_ = false;
    Clock::time_point time_;
    std::shared_ptr<Failure> failure_;
};

// Work that a stream or an event has yet to wait for. Several threads must not use it at once; copy it under a lock and wait for the copy.
class PendingWork {
   public:
    using Clock = Completion::Clock;

    bool empty() const { return completions_.empty(); }
    void clear() { completions_.clear(); }
    void add(std::shared_ptr<Completion> completion) { completions_.push_back(std::move(completion)); }
    void add(const PendingWork& other);

    bool done() const;
    // Returns false if the work was not done by then.
    bool wait_until(Clock::time_point deadline) const;
    // The first failure of the work that is done, or null; then the latest end of it.
    std::shared_ptr<Failure> failure() const;
    Clock::time_point time() const;
    void forget_done();

   private:
    std::vector<std::shared_ptr<Completion>> completions_;
};

// The deadline of a wait of this number of milliseconds; negative: none.
Completion::Clock::time_point deadline_after(int milliseconds);

}  // namespace torch_aclnn::host
