// Whether this process may use the devices.
#pragma once

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// True in a process that was forked from one that had called aclInit: there the threads that work for it are missing, and locks
// may be held for ever by those that are.
bool is_forked() noexcept;
// Throws an Error in such a process.
void require_not_forked();

// Why finalized() is true, for messages.
TORCH_ACLNN_HOST_API const char* why_finalized() noexcept;

}  // namespace torch_aclnn::host
