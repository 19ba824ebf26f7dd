// Batch norm over the batch's own statistics, whose element-wise gradient is the operator batch_norm_elemt_backward.
#pragma once

#include "extension/autograd/node.h"

namespace torch_aclnn {

struct BatchNormArguments {
    const at::Tensor& input;
    // A tensor that is not given is undefined.
    at::Tensor running_mean, running_var, weight, bias;
    double momentum, eps;
};

// Whether torch's fused batch norm keeps the statistics of such an input in float32 or wider, so that none is rounded on the way.
bool has_fused_batch_norm(const BatchNormArguments& arguments);

// torch's batch norm in training, running statistics included.
at::Tensor train_batch_norm(const BatchNormArguments& arguments);

// They are undefined where not wanted.
using BatchNormGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

c10::SymInt elements_of_channel(const at::Tensor& input);

// Returns the gradient of the input, through the dispatcher, from the sums over the batch of dy and of dy * (x - mean).
at::Tensor elementwise_of_batch(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
                                const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu);

}  // namespace torch_aclnn
