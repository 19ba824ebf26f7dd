#pragma once

namespace torch_aclnn::host {

// Lets timed waits of the calling thread, and of the threads that it creates from now on, end up to a millisecond late.
void allow_late_timers() noexcept;

}  // namespace torch_aclnn::host
