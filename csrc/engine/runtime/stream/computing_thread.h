// Which thread computes with OpenMP's threads.
//
// OpenMP gives each thread that computes in parallel threads of its own, and keeps them until that thread ends. If they are more than the
// processors, all of them sleep between two parallel regions instead of waiting awake, which takes longer than many operators. So one
// thread of the process computes in parallel: the only one that launches operators or, where several launch, one of the engine's own.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// While it lives the calling thread computes without OpenMP's threads.
class TORCH_ACLNN_HOST_API OneThread {
   public:
    OneThread() noexcept;
    ~OneThread();
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

    // Limits the calling thread again, if one lives: torch sets the number of threads when it is first asked for in a thread.
    static void renew() noexcept;

   private:
    const int before_;
    const bool is_nested_;
};

// Runs work that goes through so many elements, and returns or throws when it is over: on this thread, or on the one that computes in
// parallel.
TORCH_ACLNN_HOST_API void compute_in_parallel(int64_t elements, const std::function<void()>& work);

// Ends the OpenMP threads of the calling thread, unless it is the thread that computes in parallel.
void end_idle_threads() noexcept;

}  // namespace torch_aclnn::host
