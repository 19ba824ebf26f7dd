#pragma once

namespace torch_aclnn::host {

// Ends the OpenMP threads of the calling thread, at most ten times a second.
void end_idle_threads() noexcept;

}  // namespace torch_aclnn::host
