// Gloo's errors have no codes, only texts.
#pragma once

#include <exception>

namespace torch_aclnn::host {

// Throws an Error, of an HcclResult, with what it says.
[[noreturn]] void throw_gloo_error(const std::exception& error);

}  // namespace torch_aclnn::host
