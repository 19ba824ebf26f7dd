// Max unpooling and its gradient: elements move to the places in `indices`, and back.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include "extension/autograd/node.h"

namespace torch_aclnn {

struct MaxUnpool3dArguments {
    c10::SymDimVector output_size;
    c10::SmallVector<int64_t, 3> stride, padding;
};

// torch's max_unpool3d, of which autograd keeps the indices and not the input.
at::Tensor max_unpool3d(const at::Tensor& input, const at::Tensor& indices, const MaxUnpool3dArguments& arguments);

// Of max_unpool3d_backward. A gather's derivative is a scatter that adds, because two elements may have come from one place.
class MaxUnpool3dBackwardNode final : public DerivativeNode {
   public:
    MaxUnpool3dBackwardNode(const at::Tensor& grad_output, const at::Tensor& indices);
    std::string name() const override { return "MaxUnpool3dBackwardBackward"; }
    torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) override;
    void release_variables() override;

   private:
    torch::autograd::SavedVariable indices_;
    c10::SymDimVector grad_output_size_;
};

}  // namespace torch_aclnn
