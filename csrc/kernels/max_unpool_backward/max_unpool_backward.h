// Gradient of max unpooling: a range-checked gather within each plane.
#pragma once

#include <optional>

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// The first index, in the order of the elements of `indices`, that lies outside its plane.
struct BadIndex {
    int64_t position[5];
    int64_t index;
};

// (N, C, depth, rows, columns), the first of size 1 where planes have two dimensions:
// grad_input[n,c,i] = grad_output[n,c].flatten()[indices[n,c,i]] for any element type of 1, 2, 4 or 8 bytes; indices are int64.
// Elements with an index outside the plane become zero and nothing outside is read.
TORCH_ACLNN_KERNELS_API std::optional<BadIndex> max_unpool_backward(const View<5>& grad_output, const View<5>& indices,
                                                                    const View<5>& grad_input, int thread_count);

}  // namespace torch_aclnn::kernels
