// Tensors of random numbers, from a stream by position (philox.h).
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "engine/aten/numerics/results.h"
#include "engine/aten/random/philox.h"

namespace torch_aclnn::host::aten {

constexpr int64_t kParallelGrain = 1 << 14;  // elements worth a thread

template <class Number, class Draw>
at::Tensor drawn(at::IntArrayRef sizes, Draw draw) {
    at::Tensor numbers = at::empty(sizes, c10::CppTypeToScalarType<Number>::value);
    Number* const first = numbers.data_ptr<Number>();
    at::parallel_for(0, numbers.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) first[i] = draw(i);
    });
    return numbers;
}

inline at::Tensor normal(at::IntArrayRef sizes, const PhiloxStream& stream) {
    return drawn<double>(sizes, [&](int64_t i) { return stream.normal(i); });
}

inline int mantissa_digits(at::ScalarType dtype) {
    switch (dtype) {
        case at::kBFloat16: return 8;
        case at::kHalf: return 11;
        case at::kFloat: return 24;
        default: return 53;
    }
}

// Each negative element gets a slope of its own in training. The noise, although an input by its type, becomes what the backward multiplies
// by.
inline at::Tensor leaky(const at::Tensor& self, const at::Tensor& noise, double lower, double upper, bool training,
                        const PhiloxStream& stream) {
    const at::Tensor x = upcast(self);
    if (!training) return at::leaky_relu(x, (lower + upper) / 2);
    const at::Tensor slopes = drawn<double>(x.sizes(), [&](int64_t i) { return lower + (upper - lower) * stream.uniform(i); });
    noise.copy_(at::where(x <= 0, slopes, 1.0).reshape(noise.sizes()));
    return x * noise.reshape(x.sizes());
}

}  // namespace torch_aclnn::host::aten
