// What has been launched on the communicators of the process.
#pragma once

#include "engine/hccl/operation.h"

namespace torch_aclnn::host {

void count_communicator(const std::string& name, int ranks);
// Counts an operation on a communicator that was counted.
void count_operation(const std::string& communicator, const Operation& operation);
// Returns the bytes of this rank's memory that the operation which the calling thread counted last reads or writes, whichever are more.
uint64_t last_counted_bytes() noexcept;

}  // namespace torch_aclnn::host
