// Tensors of one value, for an operator that needs them beside what it is given.
#pragma once

#include "extension/aclnn/launch.h"

namespace torch_aclnn {

// Fills a floating-point tensor as torch_npu's own fill_ does.
void fill(const at::Tensor& tensor, double value);

}  // namespace torch_aclnn
