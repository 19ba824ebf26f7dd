// What the entry points of the adaptive average poolings' gradients have in common.
#pragma once

#include <memory>

#include "engine/opapi/checks.h"

namespace torch_aclnn::host {

struct AdaptiveAvgPoolArguments {
    Named grad_output, self, out;
};

// One type, format and rank, which is that of `plane_dims` dimensions after C, with or without N; gradOutput has self's N and C, and out
// has self's shape. A plane without any window has no gradient.
void check_adaptive_avg_pool(const char* entry_point, const AdaptiveAvgPoolArguments& a, DTypes dtypes, uint64_t plane_dims);

// `compute` reads input 0, gradOutput, and writes output 0.
std::unique_ptr<aclOpExecutor> adaptive_avg_pool_executor(const char* entry_point, const AdaptiveAvgPoolArguments& a,
                                                          void (*compute)(const aclOpExecutor&));

}  // namespace torch_aclnn::host
