// Gradient of 2-D average pooling.
#pragma once

#include <algorithm>

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

struct AvgPool2dParams {
    int64_t kernel_size[2];
    int64_t stride[2];
    int64_t padding[2];
    bool count_include_pad;
    int64_t divisor_override;  // 0: the size of the window
};

// The smallest padded size, in + 2 * padding, that holds a window; with ceil_mode a partial one will do.
inline int64_t smallest_padded_size(int64_t kernel, int64_t stride, bool ceil_mode) {
    return std::max<int64_t>(ceil_mode ? kernel - stride + 1 : kernel, 1);
}

// The size that the forward gives for such an input, as a plain or a symbolic integer. With ceil_mode a last, partial window counts if
// it starts inside the input or the padding before it.
template <class Int>
Int pooled_size(const Int& in, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode) {
    const Int size = (in + 2 * padding - kernel + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (size - 1) * stride >= in + padding) return size - 1;
    return size;
}

// grad_output (N,C,oH,oW) -> grad_input (N,C,H,W), both float16, bfloat16, float32 or float64.
TORCH_ACLNN_KERNELS_API void avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, const AvgPool2dParams& params,
                                                 int thread_count);

}  // namespace torch_aclnn::kernels
