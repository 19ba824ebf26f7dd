// The sums that the gradient of batch norm needs.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// For each channel of (N, C, inner) views of one floating-point type, with adjacent elements in the last dimension: the sum of grad_out,
// and of grad_out * (input - mean), in float64; `mean` has a number for each channel.
TORCH_ACLNN_KERNELS_API void batch_norm_backward_reduce(const View<3>& grad_out, const View<3>& input, const double* mean, double* sum_dy,
                                                        double* sum_dy_xmu, int thread_count);

}  // namespace torch_aclnn::kernels
