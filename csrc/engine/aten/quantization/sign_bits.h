// Eight signs in a byte, from its lowest bit on; 1 stands for a number from 0 on. Bits that the last byte does not need are 0.
#pragma once

#include <ATen/ATen.h>

namespace torch_aclnn::host::aten {

inline at::Tensor packed_signs(const at::Tensor& numbers) {
    const at::Tensor signs = (numbers.reshape({-1}) >= 0).to(at::kByte);
    const at::Tensor filled = at::constant_pad_nd(signs, {0, (8 - signs.numel() % 8) % 8}).reshape({-1, 8});
    return at::bitwise_left_shift(filled, at::arange(8, at::kByte)).sum(1, false, at::kByte);
}

// Returns 1 or -1 for each bit.
inline at::Tensor unpacked_signs(const at::Tensor& bytes) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(bytes.reshape({-1, 1}), at::arange(8, at::kByte)), 1);
    return bits.to(at::kFloat) * 2 - 1;
}

}  // namespace torch_aclnn::host::aten
