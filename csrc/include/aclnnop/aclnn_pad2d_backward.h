// aclnnReflectionPad2dBackward and aclnnReplicationPad2dBackward: see docs/operators/ for the contracts.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "../acl/acl_rt.h"
#include "../aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Phase 1: checks the arguments and returns the workspace size and an executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnReflectionPad2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                                             const aclIntArray* padding, aclTensor* gradInput,
                                                                             uint64_t* workspaceSize, aclOpExecutor** executor);

/// Phase 2: enqueues the computation on the stream and consumes the executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnReflectionPad2dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                             const aclrtStream stream);

/// Phase 1: checks the arguments and returns the workspace size and an executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self,
                                                                              const aclIntArray* padding, aclTensor* gradInput,
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor);

/// Phase 2: enqueues the computation on the stream and consumes the executor.
ACL_FUNC_VISIBILITY aclnnStatus aclnnReplicationPad2dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                              const aclrtStream stream);

#ifdef __cplusplus
}
#endif
