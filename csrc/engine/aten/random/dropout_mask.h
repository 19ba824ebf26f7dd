// The bit masks that dropout's entry points hand to each other: a bit for each element, from the lowest of each byte on; 1 keeps it.
#pragma once

#include <ATen/Functions.h>

#include "engine/aten/adapter/relations.h"
#include "engine/aten/random/random_numbers.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

// 161002 unless the mask has a bit for each element of that shape.
inline void require_bits(const char* name, const at::Tensor& mask, at::IntArrayRef sizes) {
    int64_t bits = 1;
    bool fits = true;
    for (const int64_t size : sizes) fits = fits && !__builtin_mul_overflow(bits, size, &bits);
    if (!fits || mask.numel() < bits / 8 + (bits % 8 != 0))
        refuse(name, c10::str("a bit for each element of the shape ", sizes), shape_text(mask.sizes()));
}

// Bytes of such a mask, each bit of which is 1 with the probability `kept`. aclnnInplaceBernoulli draws the same from the same seed and
// offset, so that dropout in place and not in place agree.
inline at::Tensor drawn_dropout_mask(at::IntArrayRef sizes, const PhiloxStream& stream, double kept) {
    return drawn<uint8_t>(sizes, [&](int64_t byte) {
        uint8_t bits = 0;
        for (int64_t bit = 0; bit < 8; bit++) bits |= (stream.uniform(8 * byte + bit) < kept) << bit;
        return bits;
    });
}

inline at::Tensor unpacked_dropout_mask(const at::Tensor& mask, at::IntArrayRef sizes) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(mask.reshape({-1, 1}), at::arange(8, at::kByte)), 1);
    return bits.reshape({-1}).narrow(0, 0, c10::multiply_integers(sizes)).reshape(sizes).to(at::kBool);
}

}  // namespace torch_aclnn::host::aten
