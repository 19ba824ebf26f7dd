// The failure of a task, which its stream keeps until it has been reported.
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// Streams and events share it. It is reported to the first thread that waits, and, once each, to every thread whose own work failed or was
// skipped because of it.
class Failure {
   public:
    explicit Failure(const Error& error) : error_(error) {}

    const Error& error() const { return error_; }
    // Not reported to anyone yet. Until then what comes after the failure is skipped.
    bool pending() const { return !reported_.load(std::memory_order_acquire); }
    // True if it is to be reported to the calling thread.
    bool is_due() const;
    // The same, and takes it as reported to the calling thread.
    bool claim();

    void add_affected(uint64_t thread);
    // Threads to which an older failure was to be reported get this one instead.
    void inherit(const Failure& older);

   private:
    const Error error_;
    std::atomic<bool> reported_{false};
    mutable std::mutex mutex_;
    std::set<uint64_t> affected_;  // by thread_number()
};

}  // namespace torch_aclnn::host
