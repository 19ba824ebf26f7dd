// Max unpoolings and their gradients: elements move to the places in `indices`, and back.
#pragma once

#include "extension/autograd/node.h"
#include "extension/autograd/operator_call.h"
#include "extension/autograd/rows.h"

namespace torch_aclnn {

// 2-D unpooling needs no more than the size of the result.
struct MaxUnpoolArguments {
    c10::SymDimVector output_size;
    c10::SmallVector<int64_t, 3> stride, padding;

    static auto fields(auto& self) { return std::tie(self.output_size, self.stride, self.padding); }
};

// The derivative of max_unpool2d_backward and max_unpool3d_backward. They gather, so it is a scatter that adds, because two elements may
// have come from one place.
template <class Row>
struct MaxUnpoolBackwardDerivative {
    static constexpr const char* kName = Row::kBackwardNode;

    at::Tensor indices;
    c10::SymDimVector grad_output_size;

    static auto fields(auto& self) { return std::tie(self.indices, self.grad_output_size); }
    variable_list operator()(const variable_list& gradients, const Wanted&) const {
        const at::Tensor& grad_grad_input = gradients[0];
        if (!grad_grad_input.defined()) return {at::Tensor()};
        const at::Tensor zeros = grad_grad_input.new_zeros_symint(grad_output_size);
        const auto as_line = [](const at::Tensor& planes) { return planes.flatten(-Row::kDims); };
        return {as_line(zeros).scatter_add(-1, as_line(indices.to(at::kLong)), as_line(grad_grad_input)).view_symint(grad_output_size)};
    }
};

template <class Row>
struct MaxUnpoolDerivative {
    static constexpr const char* kName = Row::kForwardNode;

    at::Tensor indices;
    MaxUnpoolArguments arguments;

    static auto fields(auto& self) { return std::tie(self.indices, self.arguments); }
    variable_list operator()(const variable_list& gradients, const Wanted&) const {
        if (!gradients[0].defined()) return {at::Tensor()};
        if constexpr (Row::kDims == 3)
            return {call(gradients[0], at::IntArrayRef(arguments.stride), at::IntArrayRef(arguments.padding))};
        else
            return {call(gradients[0])};
    }

   private:
    template <class... Rest>
    at::Tensor call(const at::Tensor& grad_output, Rest... rest) const {
        using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef, Rest...);
        static const auto op = find_operator_of_package<Signature>(Row::kQualifiedOp);
        return op.call(grad_output, indices, arguments.output_size, rest...);
    }
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

// Unpools with a derivative, for which autograd keeps the indices and not the input.
template <class Row>
at::Tensor max_unpool(const at::Tensor& input, const at::Tensor& indices, const MaxUnpoolArguments& arguments) {
    const auto compute = [&] { return unpool<Row>(input, indices, arguments); };
    return records(input) ? record(compute, MaxUnpoolDerivative<Row>{indices, arguments}, input) : compute();
}

}  // namespace torch_aclnn
