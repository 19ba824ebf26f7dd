// The cache of executors, as torch_npu uses it around phase 1; in libopapi.so. The functions without the prefix are no documented
// interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

// Whether calls of an entry point may be cached.
__attribute__((visibility("default"))) bool CanUsePTACache(const char* entryPoint);

// A key of the calling thread begins and ends. Its contents are either a hash, 0 for none, or bytes, null for none.
__attribute__((visibility("default"))) void InitPTACacheThreadLocal(void);
__attribute__((visibility("default"))) void UnInitPTACacheThreadLocal(void);
__attribute__((visibility("default"))) void AddTensorAddrToCachedList(void* address);
__attribute__((visibility("default"))) void SetPTAHashKey(uint64_t hash);
__attribute__((visibility("default"))) void SetPTACacheHashKey(const uint8_t* key, size_t size);

// Returns the executor of an earlier call with the same contents and addresses, for one phase 2, or null.
__attribute__((visibility("default"))) aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize);
__attribute__((visibility("default"))) aclOpExecutor* PTAFindExecCache(const uint8_t* key, size_t size, uint64_t* workspaceSize);

// Returns how many executors were found since the process started.
__attribute__((visibility("default"))) uint64_t torchAclnnHostExecutorCacheHits(void);

#ifdef __cplusplus
}
#endif
