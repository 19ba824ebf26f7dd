// Tensors (N, C, plane) and (C, plane), where a plane has one to three dimensions, as the kernels take them: (N, C, depth, rows, columns),
// with dimensions of size 1 for those that a tensor does not have.
#pragma once

#include <cstdint>

namespace torch_aclnn::kernels {

// Which of the five a dimension of a tensor of this rank is.
constexpr int64_t place_among_five(int64_t dim, int64_t rank, int64_t plane_dims) {
    const int64_t front = rank - plane_dims;
    return dim < front ? 2 - front + dim : 5 - rank + dim;
}

// Numbers for each dimension of a plane, or one for all, as those of the last of depth, rows and columns.
void expand_axes(const auto& values, int64_t plane_dims, int64_t (&axes)[3]) {
    for (int64_t d = 0; d < plane_dims; ++d) axes[3 - plane_dims + d] = values[values.size() == 1 ? 0 : d];
}

}  // namespace torch_aclnn::kernels
