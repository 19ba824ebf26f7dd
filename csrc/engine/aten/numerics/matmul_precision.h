// The precision of what matrix products and convolutions multiply.
//
// The engine computes FLOAT as FLOAT, whatever less cubeMathType permits. TORCH_ACLNN_HOST_MODE=hf32 has it round the operands first, to
// what the value means on the product: 1 HF32, or FLOAT16 where the product has no HF32, 2 FLOAT16, 3 HF32; the others keep FLOAT. HF32 has
// the exponent of FLOAT and 11 bits of mantissa. Halfway cases round to even, and sums are taken in FLOAT, as the documents describe.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace torch_aclnn::host::aten {

at::Tensor operand(const at::Tensor& tensor, int8_t cube_math_type);

// Returns the factors of a product of matrices, upcast unless the processor multiplies bfloat16 itself: oneDNN sums its products in float32
// and rounds once, as it would those of the upcast factors.
std::pair<at::Tensor, at::Tensor> factors(const at::Tensor& left, const at::Tensor& right, int8_t cube_math_type);

// Refuses FLOAT with cubeMathType 0, which keeps it, on products whose matrix unit does not take it.
void require_kept_type(const at::Tensor& tensor, int8_t cube_math_type);

}  // namespace torch_aclnn::host::aten
