// Whether a call is within the limits of the entry points' pages. Python has the numbers from _C.
#pragma once

#include <cstdint>
#include <optional>

#include "contract/limits.h"

namespace torch_aclnn {

template <int kDims>
struct AvgPoolLimits {
    static bool hold(std::optional<int64_t> divisor_override, int64_t channels) { return divisor_override.value_or(1) != 0; }
};
template <>
struct AvgPoolLimits<2> {
    static bool hold(std::optional<int64_t> divisor_override, int64_t channels) {
        const int64_t divisor = divisor_override.value_or(1);
        return divisor != 0 && divisor >= -kMaxDivisorOfAvgPool2d && divisor <= kMaxDivisorOfAvgPool2d &&
               channels <= kMaxChannelsOfAvgPool2d;
    }
};

}  // namespace torch_aclnn
