// Shapes of products of matrices, from the sizes of factors that need not be plain tensors.
#pragma once

#include "engine/aten/numerics/groups.h"
#include "engine/aten/quantization/mx_quantization.h"
#include "engine/aten/quantization/packed_integers.h"

namespace torch_aclnn::host::aten {

// Returns x, whose last two dimensions are transposed if `transpose`.
at::Tensor exchanged(const at::Tensor& x, bool transpose);
std::vector<int64_t> exchanged(std::vector<int64_t> sizes, bool transpose);

void require_factors(const char* left_name, const std::vector<int64_t>& left, const char* right_name, const std::vector<int64_t>& right);

Expected product_shape(const std::vector<int64_t>& left, const std::vector<int64_t>& right);

// Factors of eight or of four bits, where the left one may have a scale for each row.
void require_integers(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2, const char* row_scale_name,
                      const OptTensor& row_scale);

// Batches of products of factors whose three dimensions come in other orders, with the rows of all batches first. A factor other than 1
// makes as many batches of the columns of all.
Expected multiplied_permuted(const at::Tensor& x1, at::IntArrayRef order1, const at::Tensor& x2, at::IntArrayRef order2,
                             at::IntArrayRef order, int64_t factor);
at::Tensor permuted_product(const at::Tensor& left, const at::Tensor& right, int64_t factor);

}  // namespace torch_aclnn::host::aten
