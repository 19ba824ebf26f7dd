// Limits of the published pages that torch's functions do not have. The fuzzer's contract (tests/fuzz) says them again on purpose.
#pragma once

#include <cstdint>

namespace torch_aclnn {

// The limit of the divisor is that of aclnnAvgPool2dBackward; no published page was found that states one for aclnnAvgPool3dBackward.
constexpr int64_t kMaxDivisorOfAvgPool2d = 255, kMaxChannelsOfAvgPool2d = 65535;

}  // namespace torch_aclnn
