// Gradient of 2-D reflection padding.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_output (N,C,H+top+bottom,W+left+right) -> grad_input (N,C,H,W), both of one real or complex floating-point type.
// Each padding is less than the size that it extends; a negative one crops. Of padding = {left, right, top, bottom} only left and top are
// needed beside the sizes.
TORCH_ACLNN_KERNELS_API void reflection_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top,
                                                       int thread_count);

}  // namespace torch_aclnn::kernels
