// Tensors (N, C, ...) and values of their channels.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace torch_aclnn {

// The values such that they broadcast to `like`.
inline at::Tensor per_channel(const at::Tensor& values, const at::Tensor& like) {
    c10::SmallVector<int64_t, 8> sizes(like.dim() - 1, 1);
    sizes[0] = -1;
    return values.view(sizes);
}

inline at::Tensor sum_over_samples(const at::Tensor& values) {
    c10::SmallVector<int64_t, 8> dims;
    for (int64_t d = 0; d < values.dim(); ++d)
        if (d != 1) dims.push_back(d);
    return values.sum(dims);
}

}  // namespace torch_aclnn
