#include "engine/runtime/device/timer_slack.h"

#include <sys/prctl.h>

namespace torch_aclnn::host {

// For each of its task queues torch_npu keeps a thread that looks for memory to release, and waits a microsecond between two looks. With
// the system's slack of 50 microseconds it wakes 13,000 times a second, all through the process's life, which takes a quarter of a
// processor.
void allow_late_timers() noexcept {
    constexpr unsigned long kNanoseconds = 1'000'000;
    thread_local bool done = false;
    if (done) return;
    done = true;  // once: what the program sets later stays
    const int slack = prctl(PR_GET_TIMERSLACK);
    if (slack >= 0 && static_cast<unsigned long>(slack) < kNanoseconds) prctl(PR_SET_TIMERSLACK, kNanoseconds);
}

}  // namespace torch_aclnn::host
