#include "extension/autograd/padding.h"

#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/replication_pad2d.h>

#include "extension/autograd/operator_call.h"

namespace torch_aclnn {

using PaddingBackwardCall = at::Tensor(const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef);

at::Tensor ReplicationPad2dMap::forward(const at::Tensor& input) const {
    return at::replication_pad2d_symint(input, padding);
}

at::Tensor ReplicationPad2dMap::backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
    static const auto op = find_operator_of_package<PaddingBackwardCall>("torch_aclnn::replication_pad2d_backward");
    return op.call(grad_output, input_size, padding);
}

at::Tensor ReflectionPad2dMap::forward(const at::Tensor& input) const {
    return at::reflection_pad2d_symint(input, padding);
}

at::Tensor ReflectionPad2dMap::backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
    static const auto op = find_operator_of_package<PaddingBackwardCall>("torch_aclnn::reflection_pad2d_backward");
    return op.call(grad_output, input_size, padding);
}

}  // namespace torch_aclnn
