// TORCH_ACLNN_HOST_FINDINGS names a file to which each finding adds a line with its kind, for `torch-aclnn debug`.
#pragma once

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

bool collecting_findings() noexcept;

bool found_an_error() noexcept;

// Adds the line; what was found has been written on standard error. May be called in a signal handler.
TORCH_ACLNN_HOST_API void add_finding(const char* kind) noexcept;

}  // namespace torch_aclnn::host
