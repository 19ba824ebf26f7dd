// Element-wise part of the gradient of (synchronised) batch norm.
#pragma once

#include <utility>

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// Returns a view of `rank` dimensions (N, C, inner...), which was filled up with sizes of 1 in front, with these moved behind C.
inline View<8> channels_second(View<8> view, int64_t rank) {
    for (int64_t d = 0; d < 2; ++d) {
        std::swap(view.size[d], view.size[8 - rank + d]);
        std::swap(view.stride[d], view.stride[8 - rank + d]);
    }
    return view;
}

// What stands for a weight of ones.
constexpr View<1> kNoWeight{nullptr, DType::float32, {0}, {0}};

// Per-channel tensors of one element per channel; `weight.data` may be null, which means ones.
struct BatchNormChannels {
    View<1> mean, invstd, weight, sum_dy, sum_dy_xmu;
};

// grad_input = ((grad_out - sum_dy/n) - (input - mean) * invstd^2 * sum_dy_xmu/n) * invstd * weight over (N, C, inner...).
// n is the number of samples behind the sums. Any mix of floating-point types: computed in float32, in float64 if input is float64.
TORCH_ACLNN_KERNELS_API void batch_norm_elemt_backward(const View<8>& grad_out, const View<8>& input, const BatchNormChannels& channels,
                                                       double n, const View<8>& grad_input, int thread_count);

// The sum of all elements of a float16, float32, float64 or int32 view.
TORCH_ACLNN_KERNELS_API double sum_elements(const View<8>& view);

}  // namespace torch_aclnn::kernels
