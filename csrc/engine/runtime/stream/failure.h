// The failure of a task, which its stream keeps until it has been reported.
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

// The number of a launch, which tells those before a report from those after it.
uint64_t next_launch() noexcept;

// Streams and events share it. It is reported to the first thread that waits, and once to every thread whose own work failed or was skipped
// because of it.
class Failure {
   public:
    explicit Failure(const Error& error) : error_(error) {}

    const Error& error() const { return error_; }
    // Whether it has not been reported to anyone. Until it is, what comes after the failure is skipped.
    bool pending() const { return reported_at_.load(std::memory_order_acquire) == kNever; }
    // Returns true for a task that was launched before the failure was first reported; `launch` is its number of next_launch().
    bool spoils(uint64_t launch) const { return launch < reported_at_.load(std::memory_order_acquire); }
    bool is_due() const;
    // Returns whether it is to be reported to the calling thread, and takes it as reported there.
    bool claim();

    void add_affected(uint64_t thread);
    // Threads to which an older failure was to be reported get this one instead.
    void inherit(const Failure& older);

   private:
    static constexpr uint64_t kNever = UINT64_MAX;

    const Error error_;
    std::atomic<uint64_t> reported_at_{kNever};
    mutable std::mutex mutex_;
    std::set<uint64_t> affected_;  // numbers of threads, from thread_number()
};

}  // namespace torch_aclnn::host
