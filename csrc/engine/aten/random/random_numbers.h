// Random numbers by position: element i of a call is a function of the call's seed and offset and of i, for any number of threads.
//
// torch_npu's generator advances the offset with each call, so the same manual_seed gives the same numbers. They are the engine's own,
// neither an NPU's nor those of torch's CPU generator.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>

#include <cmath>

#include "engine/aten/adapter/kinds.h"
#include "engine/aten/numerics/results.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

class PhiloxStream {
   public:
    PhiloxStream(uint64_t seed, uint64_t offset) : seed_(seed), offset_(offset) {}

    uint64_t bits(uint64_t i) const {
        at::Philox4_32 engine(seed_, i, offset_);
        const uint64_t high = engine(), low = engine();
        return high << 32 | low;
    }

    // Returns a multiple of 2^-digits in [0, 1): a type with that many digits of mantissa holds it exactly, so that no rounding makes a 1.
    double uniform(uint64_t i, int digits = 53) const { return static_cast<double>(bits(i) >> (64 - digits)) / (uint64_t(1) << digits); }

    double normal(uint64_t i) const {
        at::Philox4_32 engine(seed_, i, offset_);
        const double radius = std::sqrt(-2 * std::log((engine() + 1.0) * 0x1p-32));  // the argument is in (0, 1], so the result is finite
        return radius * std::cos(2 * M_PI * (engine() * 0x1p-32 + engine() * 0x1p-64));
    }

    // Returns a whole number of [0, range); a range of 0 means 2^64.
    uint64_t integer(uint64_t i, uint64_t range) const { return range == 0 ? bits(i) : bits(i) % range; }

   private:
    uint64_t seed_, offset_;
};

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

// A seed or an offset in device memory is one number, which is read when the operator runs.
inline at::Tensor read_number(const char* name, const aclTensor* handle) {
    at::Tensor number = read_tensor(name, handle);
    if (number.numel() != 1) refuse(name, "one element", c10::str("shape ", number.sizes()));
    return number;
}

// Returns the stream at the operator's offset within the graph.
inline PhiloxStream stream_at(const at::Tensor& seed, const at::Tensor& offset_of_graph, int64_t offset) {
    return {uint64_t(seed.item<int64_t>()), uint64_t(offset_of_graph.item<int64_t>()) + uint64_t(offset)};
}

namespace kind {
using Number = Kind<const aclTensor*, at::Tensor, const at::Tensor&, read_number>;
}  // namespace kind
}  // namespace torch_aclnn::host::aten
