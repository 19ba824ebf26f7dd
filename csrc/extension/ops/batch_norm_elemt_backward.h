// The operator's call on the NPU, for another operator that has checked the arguments.
#pragma once

#include "extension/aclnn/launch.h"
#include "extension/autograd/batch_norm_elemt.h"

namespace torch_aclnn {

void call_batch_norm_elemt_backward(const BatchNormElemtArguments& arguments, const at::Tensor& grad_input);

}  // namespace torch_aclnn
