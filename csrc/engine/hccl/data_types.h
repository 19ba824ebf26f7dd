// The data types and reductions of collectives.
#pragma once

#include <cstddef>

#include "engine/runtime/visibility.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

// HCCL_E_PARA for a number that is no data type.
TORCH_ACLNN_HOST_API size_t bytes_of(HcclDataType type);
TORCH_ACLNN_HOST_API const char* name_of(HcclDataType type) noexcept;

// HCCL_E_PARA for a number that is no reduction, HCCL_E_NOT_SUPPORT for a type that cannot be reduced.
void require_reduction(HcclDataType type, HcclReduceOp op);
const char* name_of(HcclReduceOp op) noexcept;

}  // namespace torch_aclnn::host
