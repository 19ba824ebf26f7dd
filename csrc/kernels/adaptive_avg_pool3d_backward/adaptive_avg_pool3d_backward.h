// Gradient of 3-D adaptive average pooling.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_output (N,C,oD,oH,oW) -> grad_input (N,C,D,H,W), both float16, bfloat16, float32 or float64; oD > D and so on are legal.
TORCH_ACLNN_KERNELS_API void adaptive_avg_pool3d_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count);

}  // namespace torch_aclnn::kernels
