// The operator's call on the NPU, for whoever queues it together with others.
#pragma once

#include <memory>

#include "extension/aclnn/launch.h"
#include "extension/autograd/batch_norm_elemt.h"

namespace torch_aclnn {

// Phase 1, for arguments that have been checked. A CallState must live until the call has been queued.
std::unique_ptr<QueuedCall> make_batch_norm_elemt_backward(const BatchNormElemtArguments& arguments, const at::Tensor& grad_input);

}  // namespace torch_aclnn
