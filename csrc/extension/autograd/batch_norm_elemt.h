// The derivative of the element-wise part of batch norm's backward.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include <array>

#include "extension/autograd/node.h"

namespace torch_aclnn {

// grad_out, input, mean, invstd, weight (undefined stands for ones), sum_dy, sum_dy_xmu, count
using BatchNormElemtArguments = std::array<at::Tensor, 8>;

// The gradients of the arguments, for a gradient of the result; that of count is undefined, because it is no variable.
BatchNormElemtArguments differentiate_batch_norm_elemt(const at::Tensor& gradient, const BatchNormElemtArguments& arguments);

class BatchNormElemtBackwardNode final : public DerivativeNode {
   public:
    explicit BatchNormElemtBackwardNode(const BatchNormElemtArguments& arguments);
    std::string name() const override { return "BatchNormElemtBackwardBackward"; }
    torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) override;
    void release_variables() override;

   private:
    std::array<torch::autograd::SavedVariable, 8> arguments_;
};

}  // namespace torch_aclnn
