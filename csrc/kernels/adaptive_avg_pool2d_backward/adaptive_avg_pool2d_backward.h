// adaptive_avg_pool_backward() of 2-D planes.
#pragma once

#include "kernels/separable/operators.h"

namespace torch_aclnn::kernels {

inline void adaptive_avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, int thread_count) {
    adaptive_avg_pool_backward(with_depth(grad_output), with_depth(grad_input), thread_count);
}

}  // namespace torch_aclnn::kernels
