// What has been launched on the communicators of the process.
#pragma once

#include <string>

#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

void count_communicator(const std::string& name, int ranks);
// On a communicator that was counted.
void count_operation(const std::string& communicator, const Operation& operation);

}  // namespace torch_aclnn::host
