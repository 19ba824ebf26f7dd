// Gradients of the average poolings and of the paddings that repeat elements, for planes of one to three dimensions: a tensor is (N, C,
// depth, rows, columns), with dimensions of size 1 in front of those of a plane. The functions check nothing.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// The numbers are for depth, rows and columns; a dimension that the planes do not have has kernel 1, stride 1 and padding 0.
struct AvgPoolParams {
    int64_t kernel_size[3];
    int64_t stride[3];
    int64_t padding[3];
    bool count_include_pad;
    int64_t divisor_override;  // 0: the size of the window
};

// Tensors of float16, bfloat16, float32 or float64.
TORCH_ACLNN_KERNELS_API void avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, const AvgPoolParams& params,
                                               int thread_count);

// The types are the same; a size of grad_output may exceed that of grad_input.
TORCH_ACLNN_KERNELS_API void adaptive_avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count);

enum class Padding { replication, reflection, circular };

// Tensors of a real or complex floating-point type. Negative paddings crop. Of the paddings those in front of depth, rows and columns are
// needed beside the sizes. Reflection takes less than the size that it extends, and circular padding no more.
TORCH_ACLNN_KERNELS_API void pad_backward(Padding padding, const View<5>& grad_output, const View<5>& grad_input,
                                          const int64_t (&before)[3], int thread_count);

}  // namespace torch_aclnn::kernels
