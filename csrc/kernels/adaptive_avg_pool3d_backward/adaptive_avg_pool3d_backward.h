// adaptive_avg_pool_backward() under its name for volumes alone.
#pragma once

#include "kernels/separable/operators.h"

namespace torch_aclnn::kernels {

inline void adaptive_avg_pool3d_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count) {
    adaptive_avg_pool_backward(grad_output, grad_input, thread_count);
}

}  // namespace torch_aclnn::kernels
