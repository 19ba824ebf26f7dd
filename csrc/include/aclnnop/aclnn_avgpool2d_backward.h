// aclnnAvgPool2dBackward: see docs/operators/ for the contract.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "../acl/acl_rt.h"
#include "../aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Phase 1: checks the arguments and returns the workspace size and an executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnAvgPool2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                                       const aclIntArray* kernelSize, const aclIntArray* stride,
                                                                       const aclIntArray* padding, bool ceilMode, bool countIncludePad,
                                                                       int64_t divisorOverride, int8_t cubeMathType, aclTensor* gradInput,
                                                                       uint64_t* workspaceSize, aclOpExecutor** executor);

/// Phase 2: enqueues the computation on the stream and consumes the executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnAvgPool2dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif
