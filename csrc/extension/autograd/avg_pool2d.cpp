#include "extension/autograd/avg_pool2d.h"

#include <ATen/ops/avg_pool2d.h>

#include "extension/autograd/operator_call.h"

namespace torch_aclnn {

at::Tensor AvgPool2dMap::forward(const at::Tensor& input) const {
    return at::avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

at::Tensor AvgPool2dMap::backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
    using Signature = at::Tensor(const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                                 std::optional<int64_t>, std::optional<int64_t>);
    static const auto op = find_operator_of_package<Signature>("torch_aclnn::avg_pool2d_backward");
    return op.call(grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, std::nullopt);
}

}  // namespace torch_aclnn
