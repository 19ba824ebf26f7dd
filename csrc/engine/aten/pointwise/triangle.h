// Triangles of matrices, of aclnnTril, aclnnTriu and what writes in place.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_aclnn::host::aten {

enum class Triangle { lower, upper };

// Writes the elements of self on one side of a diagonal into out, and zeros elsewhere; out may be self's memory.
void write_triangle(const at::Tensor& out, const at::Tensor& self, int64_t diagonal, Triangle triangle);

}  // namespace torch_aclnn::host::aten
