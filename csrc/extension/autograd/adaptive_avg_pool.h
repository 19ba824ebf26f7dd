// Adaptive average poolings and their gradients as pairs of linear maps, which differ in nothing but the operators.
#pragma once

#include "extension/autograd/linear.h"

namespace torch_aclnn {

struct AdaptiveAvgPool2dMap {
    static constexpr const char* kForwardNode = "AdaptiveAvgPool2dBackward";
    static constexpr const char* kBackwardNode = "AdaptiveAvgPool2dBackwardBackward";

    c10::SymDimVector output_size;

    at::Tensor forward(const at::Tensor& input) const;
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;
};

struct AdaptiveAvgPool3dMap {
    static constexpr const char* kForwardNode = "AdaptiveAvgPool3dBackward";
    static constexpr const char* kBackwardNode = "AdaptiveAvgPool3dBackwardBackward";

    c10::SymDimVector output_size;

    at::Tensor forward(const at::Tensor& input) const;
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;
};

}  // namespace torch_aclnn
