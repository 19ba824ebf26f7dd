// The name of max_unpool_backward() before it took planes of two dimensions.
#pragma once

#include "kernels/max_unpool_backward/max_unpool_backward.h"

namespace torch_aclnn::kernels {

inline std::optional<BadIndex> max_unpool3d_backward(const View<5>& grad_output, const View<5>& indices, const View<5>& out,
                                                     int thread_count) {
    return max_unpool_backward(grad_output, indices, out, thread_count);
}

}  // namespace torch_aclnn::kernels
