// The bit masks that dropout's entry points hand to each other: a bit for each element, from the lowest of each byte on; 1 keeps it.
#pragma once

#include <ATen/Functions.h>

namespace torch_aclnn::host::aten {

inline at::Tensor unpacked_dropout_mask(const at::Tensor& mask, at::IntArrayRef sizes) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(mask.reshape({-1, 1}), at::arange(8, at::kByte)), 1);
    return bits.reshape({-1}).narrow(0, 0, c10::multiply_integers(sizes)).reshape(sizes).to(at::kBool);
}

}  // namespace torch_aclnn::host::aten
