// What comes before all other checks of an operator's arguments.
#pragma once

#include "engine/opapi/checks.h"

namespace torch_aclnn::host {

// 161001 for the first that is null, of all tensors and arrays; then 161002 for the first that is no live handle.
void require_arguments(std::initializer_list<Named> tensors, std::initializer_list<NamedPointer<aclIntArray>> arrays);

}  // namespace torch_aclnn::host
