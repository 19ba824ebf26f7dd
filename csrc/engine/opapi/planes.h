// Tensors of planes, (N, C, plane) or (C, plane), where a plane has 1, 2 or 3 dimensions.
#pragma once

#include "engine/opapi/checks.h"
#include "engine/opapi/products.h"

namespace torch_aclnn::host {

// Returns a view as the kernels take it: (N, C, depth, rows, columns), with size 1 for dimensions that the tensor lacks.
kernels::View<5> view_of_planes(const aclTensor& tensor, uint64_t plane_dims);

// Returns the place in the tensor of an element of such a view.
Dims place_in_planes(const aclTensor& tensor, uint64_t plane_dims, const int64_t (&position)[5]);

// Checks what all operators on planes ask of the tensors, but for sizes of gradOutput: one data type, of those offered; planes of so many
// dimensions; the result has self's shape.
void check_planes(const Offer& offer, const Named& grad_output, const Named& self, const Named& result, uint64_t plane_dims);

// 161002 unless N and C are those of the reference.
void require_same_front(const Named& tensor, const Named& reference, uint64_t plane_dims);

}  // namespace torch_aclnn::host
