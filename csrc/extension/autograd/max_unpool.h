// Max unpoolings and their gradients: elements move to the places in `indices`, and back.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include "extension/autograd/node.h"
#include "extension/autograd/operator_call.h"
#include "extension/autograd/rows.h"

namespace torch_aclnn {

// Of 2-D unpooling the result's size says all.
struct MaxUnpoolArguments {
    c10::SymDimVector output_size;
    c10::SmallVector<int64_t, 3> stride, padding;
};

// A node that keeps indices until they are released, by whichever thread.
class NodeOfIndices : public DerivativeNode {
   public:
    explicit NodeOfIndices(const at::Tensor& indices) : indices_(indices, /*is_output=*/false) {}

    torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) final {
        const std::lock_guard<std::mutex> lock(mutex_);
        const at::Tensor indices = indices_.unpack();
        return {gradients[0].defined() ? differentiate(gradients[0], indices) : at::Tensor()};
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        indices_.reset_data();
    }

   private:
    virtual at::Tensor differentiate(const at::Tensor& gradient, const at::Tensor& indices) = 0;

    torch::autograd::SavedVariable indices_;
};

// Of max_unpool2d_backward and max_unpool3d_backward. A gather's derivative is a scatter that adds, because two elements may have come from
// one place.
template <class Row>
class MaxUnpoolBackwardNode final : public NodeOfIndices {
   public:
    MaxUnpoolBackwardNode(const at::Tensor& grad_output, const at::Tensor& indices)
        : NodeOfIndices(indices), grad_output_size_(grad_output.sym_sizes().begin(), grad_output.sym_sizes().end()) {
        set_next_edges(torch::autograd::collect_next_edges(grad_output));
    }
    std::string name() const override { return Row::kBackwardNode; }

   private:
    at::Tensor differentiate(const at::Tensor& grad_grad_input, const at::Tensor& indices) override {
        const at::Tensor zeros = grad_grad_input.new_zeros_symint(grad_output_size_);
        const auto as_line = [](const at::Tensor& planes) { return planes.flatten(-Row::kDims); };
        return as_line(zeros).scatter_add(-1, as_line(indices.to(at::kLong)), as_line(grad_grad_input)).view_symint(grad_output_size_);
    }

    c10::SymDimVector grad_output_size_;
};

template <class Row>
class MaxUnpoolNode final : public NodeOfIndices {
   public:
    MaxUnpoolNode(const at::Tensor& input, const at::Tensor& indices, const MaxUnpoolArguments& arguments)
        : NodeOfIndices(indices), arguments_(arguments) {
        set_next_edges(torch::autograd::collect_next_edges(input));
    }
    std::string name() const override { return Row::kForwardNode; }

   private:
    at::Tensor differentiate(const at::Tensor& grad_output, const at::Tensor& indices) override {
        if constexpr (Row::kDims == 3)
            return call(grad_output, indices, at::IntArrayRef(arguments_.stride), at::IntArrayRef(arguments_.padding));
        else
            return call(grad_output, indices);
    }

    template <class... Rest>
    at::Tensor call(const at::Tensor& grad_output, const at::Tensor& indices, Rest... rest) const {
        using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef, Rest...);
        static const auto op = find_operator_of_package<Signature>(Row::kQualifiedOp);
        return op.call(grad_output, indices, arguments_.output_size, rest...);
    }

    MaxUnpoolArguments arguments_;
};

// torch's forward. On npu its entry points list neither bfloat16 nor int32 indices, which max_pool3d gives there; elements only move, so
// that nothing is lost in float32.
template <class Row>
at::Tensor unpool(const at::Tensor& input, const at::Tensor& indices, const MaxUnpoolArguments& arguments) {
    const auto forward = [&](const at::Tensor& values, const at::Tensor& places) {
        if constexpr (Row::kDims == 3)
            return Row::kForward(values, places, arguments.output_size, arguments.stride, arguments.padding);
        else
            return Row::kForward(values, places, arguments.output_size);
    };
    if (!input.is_privateuseone()) return forward(input, indices);
    const at::Tensor listed = input.scalar_type() == at::kBFloat16 ? input.to(at::kFloat) : input;
    return forward(listed, indices.to(at::kLong)).to(input.scalar_type());
}

// The same with its derivative, of which autograd keeps the indices and not the input.
template <class Row>
at::Tensor max_unpool(const at::Tensor& input, const at::Tensor& indices, const MaxUnpoolArguments& arguments) {
    const auto compute = [&] { return unpool<Row>(input, indices, arguments); };
    return records(input) ? record<MaxUnpoolNode<Row>>(compute, input, indices, arguments) : compute();
}

}  // namespace torch_aclnn
