// Tensors of planes, (N, C, plane) or (C, plane), where a plane has 1, 2 or 3 dimensions.
#pragma once

#include "engine/opapi/checks.h"

namespace torch_aclnn::host {

// As the kernels take them: (N, C, depth, rows, columns), with dimensions of size 1 for those that the tensor does not have.
kernels::View<5> view_of_planes(const aclTensor& tensor, uint64_t plane_dims);

// An element of such a view, as the place in the tensor.
Dims place_in_planes(const aclTensor& tensor, uint64_t plane_dims, const int64_t (&position)[5]);

// 161002 unless N and C are those of the reference.
void require_same_front(const Named& tensor, const Named& reference, uint64_t plane_dims);

// What a size is there for all dimensions of the plane of, or for each.
void expand(const std::vector<int64_t>& values, uint64_t plane_dims, int64_t (&target)[3]);

}  // namespace torch_aclnn::host
