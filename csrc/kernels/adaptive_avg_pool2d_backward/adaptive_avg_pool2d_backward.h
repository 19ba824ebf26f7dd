// Gradient of 2-D adaptive average pooling.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_output (N,C,oH,oW) -> grad_input (N,C,H,W), both float16, bfloat16, float32 or float64; oH > H is legal.
TORCH_ACLNN_KERNELS_API void adaptive_avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, int thread_count);

}  // namespace torch_aclnn::kernels
