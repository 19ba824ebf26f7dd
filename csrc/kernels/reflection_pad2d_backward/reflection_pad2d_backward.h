// pad_backward() of 2-D planes.
#pragma once

#include "kernels/separable/operators.h"

namespace torch_aclnn::kernels {

inline void reflection_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top, int thread_count) {
    pad_backward(Padding::reflection, with_depth(grad_output), with_depth(grad_input), {0, top, left}, thread_count);
}

}  // namespace torch_aclnn::kernels
