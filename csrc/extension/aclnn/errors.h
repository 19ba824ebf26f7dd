// What a status code means, and the exception that says so.
#pragma once

#include <c10/util/Exception.h>

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

// "aclnnAvgPool2dBackward failed with 161002 (ACLNN_ERR_PARAM_INVALID: an argument is outside the contract)"
std::string describe_failure(const std::string& entry_point, Status status);

// Throws that text and the library's message unless the status is success: torch.OutOfMemoryError if the library could not allocate, else
// RuntimeError.
void check_status(const std::string& entry_point, Status status);

// Throws an error of torch_npu's as torch.OutOfMemoryError if the library's message in it says so: torch_npu gives its own operators' that
// class by the same words, and a function's that it was given a RuntimeError.
void rethrow_out_of_memory(const c10::Error& error);

}  // namespace torch_aclnn
