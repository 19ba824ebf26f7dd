// Gradient of 3-D max unpooling: a range-checked gather within each plane.
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

// out[n,c,i] = grad_output[n,c].flatten()[indices[n,c,i]] for any element type of 1, 2, 4 or 8 bytes; indices are int64.
// Elements with an index outside the plane become zero and nothing outside is read.
TORCH_ACLNN_KERNELS_API std::optional<BadIndex> max_unpool3d_backward(const View<5>& grad_output, const View<5>& indices,
                                                                      const View<5>& out, int thread_count);

}  // namespace torch_aclnn::kernels
