// The bit masks that dropout's entry points hand to each other: a bit for each element, from the lowest of each byte on; 1 keeps it.
#pragma once

#include <ATen/Functions.h>

#include "engine/aten/adapter/expected.h"
#include "engine/aten/random/random_numbers.h"

namespace torch_aclnn::host::aten {

// A mask that has a bit for each element of that shape, and may have bytes to spare.
inline Elements mask_of(at::IntArrayRef sizes) {
    int64_t bits = 1;
    for (const int64_t size : sizes)
        if (__builtin_mul_overflow(bits, size, &bits)) return elements_from(kUnbounded);
    return elements_from(bits / 8 + (bits % 8 != 0));
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
