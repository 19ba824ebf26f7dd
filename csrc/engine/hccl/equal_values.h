// The reduction of what is the same on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

// Of so many ranks, rounded once; integers wrap around. `result` may be `values`.
void reduce_equal_values(const void* values, void* result, uint64_t count, HcclDataType type, HcclReduceOp op, int ranks);

}  // namespace torch_aclnn::host
