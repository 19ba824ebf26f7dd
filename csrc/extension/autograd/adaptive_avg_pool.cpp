#include "extension/autograd/adaptive_avg_pool.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>

#include "extension/autograd/operator_call.h"

namespace torch_aclnn {

using AdaptiveAvgPoolBackwardCall = at::Tensor(const at::Tensor&, c10::SymIntArrayRef);

at::Tensor AdaptiveAvgPool2dMap::forward(const at::Tensor& input) const {
    return at::adaptive_avg_pool2d_symint(input, output_size);
}

at::Tensor AdaptiveAvgPool2dMap::backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
    static const auto op = find_operator_of_package<AdaptiveAvgPoolBackwardCall>("torch_aclnn::adaptive_avg_pool2d_backward");
    return op.call(grad_output, input_size);
}

at::Tensor AdaptiveAvgPool3dMap::forward(const at::Tensor& input) const {
    return at::adaptive_avg_pool3d_symint(input, output_size);
}

at::Tensor AdaptiveAvgPool3dMap::backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
    static const auto op = find_operator_of_package<AdaptiveAvgPoolBackwardCall>("torch_aclnn::adaptive_avg_pool3d_backward");
    return op.call(grad_output, input_size);
}

}  // namespace torch_aclnn
