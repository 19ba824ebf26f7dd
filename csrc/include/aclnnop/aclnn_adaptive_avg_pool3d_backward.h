// aclnnAdaptiveAvgPool3dBackward: see docs/operators/ for the contract.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "../acl/acl_rt.h"
#include "../aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Phase 1: checks the arguments and returns the workspace size and an executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                                               aclTensor* out, uint64_t* workspaceSize,
                                                                               aclOpExecutor** executor);

/// Phase 2: enqueues the computation on the stream and consumes the executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnAdaptiveAvgPool3dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif
