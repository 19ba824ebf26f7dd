// TORCH_ACLNN_HOST_FINDINGS names a file to which each finding adds a line with its kind, for `torch-aclnn debug`.
#pragma once

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// True if the variable is set.
bool collecting_findings() noexcept;

// Whether a call returned an error that was a finding.
bool found_an_error() noexcept;

// Adds the line; what was found has been written on standard error. Callable within a signal handler.
TORCH_ACLNN_HOST_API void add_finding(const char* kind) noexcept;

}  // namespace torch_aclnn::host
