// Results that no published page gives a meaning. With TORCH_ACLNN_HOST_MODE=unspecified a program that takes one for something gets wrong
// numbers. These are all that the engine has:
//
//     aclnnBatchNorm                            saveMean, saveInvstd  both negated; aclnnBatchNormBackward and, by name,
//                                                                     BN*Training*Grad, which torch_npu passes them to, negate them again
//     aclnnFlashAttention*Score of all versions softmaxOut            reserved: NaN
//     aclnnMaxPool2dWithMask                    indices               a layout of the engine's own, always (max_pool_mask.h)
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>
#include <optional>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host::aten {

struct SavedStatistics {
    std::optional<at::Tensor> mean, variance;
};

// Returns statistics as aclnnBatchNorm leaves them for its backward.
inline SavedStatistics hidden_if_unspecified(const at::Tensor& mean, const at::Tensor& variance) {
    if (!config().unspecified) return {mean, variance};
    return {mean.neg(), variance.neg()};
}

// Restores statistics that were negated to hide them. A variance is never negative, so those that do not come from there stay as they are.
inline SavedStatistics shown_if_unspecified(const std::optional<at::Tensor>& mean, const std::optional<at::Tensor>& variance) {
    if (!config().unspecified || !mean || !variance) return {mean, variance};
    return {at::where(variance->signbit(), mean->neg(), *mean), variance->abs()};
}

inline void fill_reserved_if_unspecified(const std::optional<at::Tensor>& out) {
    if (config().unspecified && out) out->fill_(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace torch_aclnn::host::aten
