// Limits of the published pages that torch's functions do not have. The fuzzer's contract (tests/fuzz) says them again on purpose.
#pragma once

#include <cstdint>

namespace torch_aclnn {

// The divisor's is of aclnnAvgPool2dBackward; no page that was found tells of aclnnAvgPool3dBackward's.
constexpr int64_t kMaxDivisorOfAvgPool2d = 255, kMaxChannelsOfAvgPool2d = 65535;

}  // namespace torch_aclnn
