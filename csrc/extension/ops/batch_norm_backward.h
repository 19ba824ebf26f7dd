// The backward of batch norm in training, of which the operator batch_norm_elemt_backward is a part.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace torch_aclnn {

// Of input, weight and bias; undefined where not wanted.
using BatchNormGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

double elements_of_channel(const at::Tensor& input);

// The gradient of the input, through the dispatcher, from the sums over the batch of dy and of dy * (x - mean).
at::Tensor elementwise_of_batch(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
                                const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu);

}  // namespace torch_aclnn
