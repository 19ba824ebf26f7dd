// Shapes of products of matrices, from the sizes of factors that need not be plain tensors, and their groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "engine/aten/adapter/expected.h"
#include "engine/aten/quantization/packed_integers.h"

namespace torch_aclnn::host::aten {

// With the last two dimensions exchanged.
at::Tensor exchanged(const at::Tensor& x, bool transpose);
std::vector<int64_t> exchanged(std::vector<int64_t> sizes, bool transpose);

void require_factors(const char* left_name, const std::vector<int64_t>& left, const char* right_name, const std::vector<int64_t>& right);

// The rows of one and the columns of the other, of each of a batch.
Expected product_shape(const std::vector<int64_t>& left, const std::vector<int64_t>& right);

// Factors of eight or of four bits, where the left one may have a scale for each row.
void require_integers(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2, const char* row_scale_name,
                      const OptTensor& row_scale);

// Batches of products of factors whose three dimensions come in other orders, with the rows of all batches first; another factor than 1
// makes as many batches of the columns of all.
Expected multiplied_permuted(const at::Tensor& x1, at::IntArrayRef order1, const at::Tensor& x2, at::IntArrayRef order2,
                             at::IntArrayRef order, int64_t factor);
at::Tensor permuted_product(const at::Tensor& left, const at::Tensor& right, int64_t factor);

// Where the rows or the columns of each group are.
struct Range {
    int64_t first, size, weight;
};
// The groups that a list of ends (type 0), of sizes (1) or of pairs of a number and a size (2) describes.
std::vector<Range> groups_of(at::IntArrayRef list, int64_t type, int64_t whole, int64_t weights);
// The values of a list; none without one.
std::vector<int64_t> numbers(const OptTensor& list);
inline std::vector<int64_t> numbers(const OptNumbers& list) {
    return list.value_or(std::vector<int64_t>());
}

// Floating point numbers of few bits; and the powers of two that are scales of theirs.
PackableTensor read_few_bits(const char* name, const aclTensor* handle);
void require_mx_scale(const char* name, const PackableTensor& scale);
namespace kind {
using FewBits = Kind<const aclTensor*, PackableTensor, const PackableTensor&, read_few_bits>;
using FewBitsOut = Kind<aclTensor*, PackableTensor, const PackableTensor&, read_few_bits>;
}  // namespace kind
// The shape of the powers of two of blocks along an axis: a pair of them for two blocks, and 2.
constexpr int64_t kMxBlock = 32;
Expected mx_scales(at::IntArrayRef sizes, int64_t axis, int64_t block = kMxBlock);
// Refuses other groups than those, which need not be told: a number of 16 bits for each of m, n and k.
void require_mx_groups(int64_t groups);
// The product of matrices whose blocks, of the rows of one and the columns of the other, have such scales.
at::Tensor mx_product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& scale1, const at::Tensor& scale2);

}  // namespace torch_aclnn::host::aten
