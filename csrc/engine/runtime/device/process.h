// Whether this process may use the devices, and what is to be done as it ends to use them.
#pragma once

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// True in a process that was forked from one that had called aclInit: there the threads that work for it are missing, and locks
// may be held for ever by those that are.
bool is_forked() noexcept;
// Throws an Error in such a process.
void require_not_forked();

// True from aclFinalize until another aclInit.
TORCH_ACLNN_HOST_API bool finalized() noexcept;
// Why finalized() is true, for messages.
TORCH_ACLNN_HOST_API const char* why_finalized() noexcept;
// True once aclInit has been called.
bool initialized() noexcept;

}  // namespace torch_aclnn::host
