// Batch norm over the batch's own statistics, whose element-wise gradient is the operator batch_norm_elemt_backward.
#pragma once

#include "extension/autograd/node.h"

namespace torch_aclnn {

struct BatchNormArguments {
    const at::Tensor& input;
    // Undefined where there is none.
    at::Tensor running_mean, running_var, weight, bias;
    double momentum, eps;
};

// Whether torch's fused batch norm keeps the statistics of such an input in float32 or wider, so that none is rounded on the way.
bool has_fused_batch_norm(const BatchNormArguments& arguments);

// torch's batch norm in training, running statistics included.
at::Tensor train_batch_norm(const BatchNormArguments& arguments);

}  // namespace torch_aclnn
