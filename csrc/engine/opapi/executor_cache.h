// Executors for calls that are made again. Before phase 1 torch_npu gives the calling thread a key, made of all that phase 1 reads but the
// addresses, which it hands over one by one, and asks for an executor. If there is none, what phase 1 makes next is kept under the key. No
// document describes the functions: they are those that torch_npu's operators look up, and do what their callers need.
#pragma once

#include "engine/opapi/executor.h"

namespace torch_aclnn::host {

// Whether the calling thread has a key, so that phase 1 gives its executor a recipe.
TORCH_ACLNN_HOST_API bool is_kept_for_later_calls();

// Keeps what phase 1 has made under the calling thread's key, if the executor has a recipe, which is moved out of it.
void cache_executor(aclOpExecutor& made);

// Drops all copies.
TORCH_ACLNN_HOST_API void forget_cached_executors();

}  // namespace torch_aclnn::host
