// Whether this process may use the devices, and actions for the time when it no longer uses them.
#pragma once

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Returns true in a process that was forked from one that had called aclInit: the threads that work for it are missing there, and locks
// that they held are never released.
bool is_forked() noexcept;
void require_not_forked();

// Returns true from aclFinalize until another aclInit.
TORCH_ACLNN_HOST_API bool finalized() noexcept;
// Returns why finalized() is true, for messages.
TORCH_ACLNN_HOST_API const char* why_finalized() noexcept;
bool initialized() noexcept;

}  // namespace torch_aclnn::host
