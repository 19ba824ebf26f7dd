#include "engine/runtime/stream/idle_threads.h"

#include <omp.h>

#include <chrono>

namespace torch_aclnn::host {

// A thread that launches work has OpenMP threads since it last computed on the CPU, a model's initial values for instance, and operators
// run in another thread, with OpenMP threads of its own. While there are more of them than processors, all sleep between two parallel
// regions instead of spinning, which takes longer than many operators. Whoever computes on the CPU again gets new ones; because that takes
// time, they are not ended each time.
void end_idle_threads() noexcept {
    using Clock = std::chrono::steady_clock;
    thread_local Clock::time_point next = Clock::time_point::min();
    const auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(100);
    omp_pause_resource(omp_pause_soft, omp_get_initial_device());
}

}  // namespace torch_aclnn::host
