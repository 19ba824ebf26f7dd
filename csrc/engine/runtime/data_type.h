// What messages call a data type.
#pragma once

#include <string>

#include "acl/acl_base.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

TORCH_ACLNN_HOST_API std::string to_string(aclDataType dtype);  // "FLOAT16"

}  // namespace torch_aclnn::host
