// Numbers of few bits with a scale for each block of them, as the operator library calls MX.
#pragma once

#include "engine/aten/quantization/packed_integers.h"

namespace torch_aclnn::host::aten {

PackableTensor read_few_bits(const char* name, const aclTensor* handle);
void require_mx_scale(const char* name, const PackableTensor& scale);
namespace kind {
using FewBits = Kind<const aclTensor*, PackableTensor, const PackableTensor&, read_few_bits>;
using FewBitsOut = Kind<aclTensor*, PackableTensor, const PackableTensor&, read_few_bits>;
}  // namespace kind
// The powers of two of blocks along an axis have the shape of x with, along the axis, one for two blocks, and a last dimension of 2.
constexpr int64_t kMxBlock = 32;
Expected mx_scales(at::IntArrayRef sizes, int64_t axis, int64_t block = kMxBlock);
// Refuses other groups than those, which need not be told: a number of 16 bits for each of m, n and k.
void require_mx_groups(int64_t groups);
// Multiplies matrices whose blocks, of the rows of one and the columns of the other, have such scales.
at::Tensor mx_product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& scale1, const at::Tensor& scale2);

}  // namespace torch_aclnn::host::aten
