// Work on a stream is work of that stream's device.
#pragma once

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// 107000, naming the parameter, if the task would read or write memory of another device. (Copies may: they do not come here.)
void require_memory_of(int device, const Task& task);

}  // namespace torch_aclnn::host
