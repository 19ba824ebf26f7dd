// What is known of the calling thread.
#pragma once

#include <cstdint>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// A number for the calling thread that no other thread of the process has or had.
TORCH_ACLNN_HOST_API uint64_t thread_number() noexcept;

// Returns the thread's device; -1 if it has none.
int current_device_index() noexcept;
void set_current_device_index(int device) noexcept;
// Sets the device of threads that have set none; -1 if they are to have none, as at first.
void set_default_device(int device) noexcept;

}  // namespace torch_aclnn::host
