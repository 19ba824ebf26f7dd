// What a status code means, and the exception that says so.
#pragma once

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

// "aclnnAvgPool2dBackward failed with 161002 (ACLNN_ERR_PARAM_INVALID: an argument is outside the contract): <the library's message>"
std::string describe_failure(const std::string& entry_point, Status status);

// Throws a RuntimeError with that text unless the status is success.
void check_status(const std::string& entry_point, Status status);

}  // namespace torch_aclnn
