// What has been launched on the communicators of the process.
#pragma once

#include <cstdint>
#include <string>

#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

void count_communicator(const std::string& name, int ranks);
// On a communicator that was counted.
void count_operation(const std::string& communicator, const Operation& operation);
// Of the operation that the calling thread counted last: what it reads of this rank's memory, or writes, whichever is more.
uint64_t last_counted_bytes() noexcept;

}  // namespace torch_aclnn::host
