// Gradient of 2-D average pooling.
#pragma once

#include "kernels/view.h"

namespace torch_aclnn::kernels {

struct AvgPool2dParams {
    int64_t kernel_size[2];
    int64_t stride[2];
    int64_t padding[2];
    bool count_include_pad;
    int64_t divisor_override;  // 0: the size of the window
};

// grad_output (N,C,oH,oW) -> grad_input (N,C,H,W), both float16, bfloat16, float32 or float64.
void avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, const AvgPool2dParams& params, int thread_count);

}  // namespace torch_aclnn::kernels
