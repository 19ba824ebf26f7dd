// Data types: their size in memory, and what messages call them.
#pragma once

#include <cstdint>
#include <string>

#include "acl/acl_base.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Of an element in memory, where those of fewer than 8 bits share bytes.
TORCH_ACLNN_HOST_API int64_t bits_of(aclDataType dtype);

TORCH_ACLNN_HOST_API std::string to_string(aclDataType dtype);  // "FLOAT16"

}  // namespace torch_aclnn::host
