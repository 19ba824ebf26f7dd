// avg_pool_backward() of 2-D planes.
#pragma once

#include "kernels/separable/operators.h"
#include "kernels/support/pooled_size.h"

namespace torch_aclnn::kernels {

struct AvgPool2dParams {
    int64_t kernel_size[2];
    int64_t stride[2];
    int64_t padding[2];
    bool count_include_pad;
    int64_t divisor_override;  // 0: the size of the window
};

inline void avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, const AvgPool2dParams& params, int thread_count) {
    const auto& [kernel, stride, padding, count_include_pad, divisor_override] = params;
    avg_pool_backward(
        with_depth(grad_output), with_depth(grad_input),
        {{1, kernel[0], kernel[1]}, {1, stride[0], stride[1]}, {0, padding[0], padding[1]}, count_include_pad, divisor_override}, thread_count);
}

}  // namespace torch_aclnn::kernels
