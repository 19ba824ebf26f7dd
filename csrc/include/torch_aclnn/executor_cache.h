// The cache of executors, as torch_npu uses it around phase 1; in libopapi.so. The functions without the prefix are no documented
// interface.
#pragma once

#include "aclnn/aclnn_base.h"

// Whether calls of an entry point may be cached.
ACL_FUNC_VISIBILITY bool CanUsePTACache(const char* entryPoint);

// A key of the calling thread begins and ends. Its contents are either a hash, 0 for none, or bytes, null for none.
ACL_FUNC_VISIBILITY void InitPTACacheThreadLocal(void);
ACL_FUNC_VISIBILITY void UnInitPTACacheThreadLocal(void);
ACL_FUNC_VISIBILITY void AddTensorAddrToCachedList(void* address);
ACL_FUNC_VISIBILITY void SetPTAHashKey(uint64_t hash);
ACL_FUNC_VISIBILITY void SetPTACacheHashKey(const uint8_t* key, size_t size);

// Returns the executor of an earlier call with the same contents and addresses, for one phase 2, or null.
ACL_FUNC_VISIBILITY aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize);
ACL_FUNC_VISIBILITY aclOpExecutor* PTAFindExecCache(const uint8_t* key, size_t size, uint64_t* workspaceSize);

// Returns how many executors were found since the process started.
ACL_FUNC_VISIBILITY uint64_t torchAclnnHostExecutorCacheHits(void);
