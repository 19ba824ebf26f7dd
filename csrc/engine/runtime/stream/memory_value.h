// Work that waits until a word of device memory has some value.
#pragma once

#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

// A thread of the stream's own runs it, also without TORCH_ACLNN_HOST_MODE=async: the program goes on, as the value may come from it.
class WaitingTask : public Task {};

}  // namespace torch_aclnn::host
