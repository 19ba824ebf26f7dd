// Random numbers by position: element i of a call is a function of the call's seed and offset and of i, for any number of threads.
//
// torch_npu's generator advances the offset with each call, so the same manual_seed gives the same numbers. They are the engine's own,
// neither an NPU's nor those of torch's CPU generator.
#pragma once

#include <ATen/core/PhiloxRNGEngine.h>

#include <cmath>
#include <cstdint>

namespace torch_aclnn::host::aten {

class PhiloxStream {
   public:
    PhiloxStream(uint64_t seed, uint64_t offset) : seed_(seed), offset_(offset) {}

    uint64_t bits(uint64_t i) const {
        at::Philox4_32 engine(seed_, i, offset_);
        const uint64_t high = engine(), low = engine();
        return high << 32 | low;
    }

    // A multiple of 2^-digits in [0, 1): a type with that many digits of mantissa holds it exactly, so that no rounding makes a 1.
    double uniform(uint64_t i, int digits = 53) const { return static_cast<double>(bits(i) >> (64 - digits)) / (uint64_t(1) << digits); }

    double normal(uint64_t i) const {
        at::Philox4_32 engine(seed_, i, offset_);
        const double radius = std::sqrt(-2 * std::log((engine() + 1.0) * 0x1p-32));  // of (0, 1]: no infinity
        return radius * std::cos(2 * M_PI * (engine() * 0x1p-32 + engine() * 0x1p-64));
    }

    // A whole number of [0, range); a range of 0 means 2^64.
    uint64_t integer(uint64_t i, uint64_t range) const { return range == 0 ? bits(i) : bits(i) % range; }

   private:
    uint64_t seed_, offset_;
};

}  // namespace torch_aclnn::host::aten
