// Which loop makes a gradient.
#pragma once

#include "kernels/separable/problem.h"
#include "kernels/support/api.h"

namespace torch_aclnn::kernels {

// Runs the first strategy of the table that pays for the problem, or the one that the environment variable TORCH_ACLNN_LOOP names, where
// that one can.
void run_best(const Problem& problem, int thread_count);

// The name of the loop of this thread's last call of an operator; "none" before the first. A call without elements runs none and changes
// nothing.
TORCH_ACLNN_KERNELS_API const char* last_loop();

// Throws std::invalid_argument if TORCH_ACLNN_LOOP names no loop.
TORCH_ACLNN_KERNELS_API void check_named_loop();

}  // namespace torch_aclnn::kernels
