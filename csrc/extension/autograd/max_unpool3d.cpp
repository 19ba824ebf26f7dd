#include "extension/autograd/max_unpool3d.h"

#include <ATen/ops/max_unpool3d.h>

#include "extension/autograd/operator_call.h"

namespace torch_aclnn {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

at::Tensor forward(const at::Tensor& input, const at::Tensor& indices, const MaxUnpool3dArguments& arguments) {
    const auto unpool = [&](const at::Tensor& values, const at::Tensor& places) {
        return at::max_unpool3d_symint(values, places, arguments.output_size, arguments.stride, arguments.padding);
    };
    if (!input.is_privateuseone()) return unpool(input, indices);
    // aclnnMaxUnpool3d lists neither bfloat16 nor int32 indices, which max_pool3d gives on npu. Elements only move, so nothing is lost in
    // float32.
    const at::Tensor listed = input.scalar_type() == at::kBFloat16 ? input.to(at::kFloat) : input;
    return unpool(listed, indices.to(at::kLong)).to(input.scalar_type());
}

// The entry point does not list bfloat16 either, but another type of that width serves.
at::Tensor gather(const at::Tensor& grad_output, const at::Tensor& indices, const MaxUnpool3dArguments& arguments) {
    using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef);
    static const auto op = find_operator_of_package<Signature>("torch_aclnn::max_unpool3d_backward");
    const auto call = [&](const at::Tensor& gradient) {
        return op.call(gradient, indices, arguments.output_size, arguments.stride, arguments.padding);
    };
    return grad_output.scalar_type() == at::kBFloat16 ? call(grad_output.view(at::kShort)).view(at::kBFloat16) : call(grad_output);
}

at::Tensor backward(const at::Tensor& grad_output, const at::Tensor& indices, const MaxUnpool3dArguments& arguments) {
    const auto compute = [&] { return gather(grad_output, indices, arguments); };
    refuse_tangents("MaxUnpool3dBackward", grad_output);
    return records(grad_output) ? record<MaxUnpool3dBackwardNode>(compute, grad_output, indices) : compute();
}

class MaxUnpool3dNode final : public DerivativeNode {
   public:
    MaxUnpool3dNode(const at::Tensor& input, const at::Tensor& indices, const MaxUnpool3dArguments& arguments)
        : indices_(indices, /*is_output=*/false), arguments_(arguments) {
        set_next_edges(torch::autograd::collect_next_edges(input));
    }
    std::string name() const override { return "MaxUnpool3dBackward"; }

    variable_list differentiate(const variable_list& gradients) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        const at::Tensor indices = indices_.unpack();
        return {gradients[0].defined() ? backward(gradients[0], indices, arguments_) : at::Tensor()};
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        indices_.reset_data();
    }

   private:
    SavedVariable indices_;
    MaxUnpool3dArguments arguments_;
};

}  // namespace

at::Tensor max_unpool3d(const at::Tensor& input, const at::Tensor& indices, const MaxUnpool3dArguments& arguments) {
    const auto compute = [&] { return forward(input, indices, arguments); };
    return records(input) ? record<MaxUnpool3dNode>(compute, input, indices, arguments) : compute();
}

MaxUnpool3dBackwardNode::MaxUnpool3dBackwardNode(const at::Tensor& grad_output, const at::Tensor& indices)
    : indices_(indices, /*is_output=*/false), grad_output_size_(grad_output.sym_sizes().begin(), grad_output.sym_sizes().end()) {
    set_next_edges(torch::autograd::collect_next_edges(grad_output));
}

variable_list MaxUnpool3dBackwardNode::differentiate(const variable_list& gradients) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor indices = indices_.unpack();
    const at::Tensor& grad_grad_input = gradients[0];
    if (!grad_grad_input.defined()) return {at::Tensor()};
    const at::Tensor zeros = grad_grad_input.new_zeros_symint(grad_output_size_).flatten(-3);
    return {zeros.scatter_add(-1, indices.to(at::kLong).flatten(-3), grad_grad_input.flatten(-3)).view_symint(grad_output_size_)};
}

void MaxUnpool3dBackwardNode::release_variables() {
    const std::lock_guard<std::mutex> lock(mutex_);
    indices_.reset_data();
}

}  // namespace torch_aclnn
