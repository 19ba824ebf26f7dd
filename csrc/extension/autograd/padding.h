// The 2-D paddings and their gradients as pairs of linear maps, which differ in nothing but the operators.
#pragma once

#include "extension/autograd/linear.h"

namespace torch_aclnn {

struct ReplicationPad2dMap {
    static constexpr const char* kForwardNode = "ReplicationPad2dBackward";
    static constexpr const char* kBackwardNode = "ReplicationPad2dBackwardBackward";

    c10::SymDimVector padding;  // left, right, top, bottom

    at::Tensor forward(const at::Tensor& input) const;
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;
};

struct ReflectionPad2dMap {
    static constexpr const char* kForwardNode = "ReflectionPad2dBackward";
    static constexpr const char* kBackwardNode = "ReflectionPad2dBackwardBackward";

    c10::SymDimVector padding;  // left, right, top, bottom

    at::Tensor forward(const at::Tensor& input) const;
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;
};

}  // namespace torch_aclnn
