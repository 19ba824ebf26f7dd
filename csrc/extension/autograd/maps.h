// Average poolings and paddings and their gradients as pairs of linear maps of planes, each of which is the other's derivative, so that
// neither needs its input's values again. A map has the arguments of a family, the forward of torch, and the operator:
//
//   struct FooMap {
//       using Operator = rows::Foo;
//       <copies of the arguments>
//       static auto fields(auto& self);                                      // of these, in the order of declaration
//       at::Tensor forward(const at::Tensor& input) const;                   // torch's function
//       at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;  // the operator
//   };
#pragma once

#include <c10/util/SmallVector.h>

#include <algorithm>

#include "extension/autograd/node.h"
#include "extension/autograd/operator_call.h"
#include "extension/autograd/rows.h"

namespace torch_aclnn {

template <class Map>
at::Tensor differentiable_forward(const at::Tensor& input, const Map& map);

template <class Map>
struct DerivativeOfForward {
    static constexpr const char* kName = Map::Operator::kForwardNode;

    Map map;
    c10::SymDimVector input_size;

    static auto fields(auto& self) { return std::tie(self.map, self.input_size); }
    variable_list operator()(const variable_list& gradients, const Wanted&) const {
        const at::Tensor& grad_output = gradients[0];
        return {grad_output.defined() ? map.backward(grad_output, input_size) : at::Tensor()};
    }
};

template <class Map>
struct DerivativeOfBackward {
    static constexpr const char* kName = Map::Operator::kBackwardNode;

    Map map;

    static auto fields(auto& self) { return std::tie(self.map); }
    variable_list operator()(const variable_list& gradients, const Wanted&) const {
        const at::Tensor& grad_grad_input = gradients[0];
        return {grad_grad_input.defined() ? differentiable_forward(grad_grad_input, map) : at::Tensor()};
    }
};

template <class Map>
at::Tensor differentiable_forward(const at::Tensor& input, const Map& map) {
    if (!records(input)) return map.forward(input);
    refuse_tangents(Map::Operator::kForwardNode, input);
    return record([&] { return map.forward(input); }, DerivativeOfForward<Map>{map, c10::SymDimVector(input.sym_sizes())}, input);
}

// A plane has one value for each dimension.
using PlaneValues = c10::SmallVector<int64_t, 3>;

template <class Row>
struct AvgPoolMap {
    using Operator = Row;

    PlaneValues kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    std::optional<int64_t> divisor_override;

    static auto fields(auto& self) {
        return std::tie(self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override);
    }
    at::Tensor forward(const at::Tensor& input) const {
        const auto pool = [&](const at::Tensor& values) {
            return Row::kForward(values, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
        };
        const at::ScalarType type = input.scalar_type();
        // torch's 3-D pooling on cpu has no half types.
        const bool widens = Row::kDims == 3 && input.is_cpu() && (type == at::kHalf || type == at::kBFloat16);
        return widens ? pool(input.to(at::kFloat)).to(type) : pool(input);
    }
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
        if constexpr (Row::kDims == 2) {
            constexpr std::optional<int64_t> kCubeMathType = std::nullopt;
            return call(grad_output, input_size, kCubeMathType);
        } else {
            return call(grad_output, input_size);
        }
    }

   private:
    template <class... CubeMathType>
    at::Tensor call(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, CubeMathType... cube_math_type) const {
        using Signature = at::Tensor(const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                                     std::optional<int64_t>, CubeMathType...);
        static const auto op = find_operator_of_package<Signature>(Row::kQualifiedOp);
        return op.call(grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                       cube_math_type...);
    }
};

template <class Row>
struct AdaptiveAvgPoolMap {
    using Operator = Row;

    c10::SymDimVector output_size;

    static auto fields(auto& self) { return std::tie(self.output_size); }
    at::Tensor forward(const at::Tensor& input) const {
        // torch_npu's kernel of the function takes no symbols, but that of the operator in it does.
        const bool is_symbolic = std::any_of(output_size.begin(), output_size.end(), [](const auto& size) { return size.is_symbolic(); });
        if (!is_symbolic) return Row::kForward(input, output_size);
        if constexpr (Row::kDims == 2)
            return at::_ops::_adaptive_avg_pool2d::call(input, output_size);
        else
            return at::_ops::_adaptive_avg_pool3d::call(input, output_size);
    }
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
        static const auto op = find_operator_of_package<at::Tensor(const at::Tensor&, c10::SymIntArrayRef)>(Row::kQualifiedOp);
        return op.call(grad_output, input_size);
    }
};

template <class Row>
struct PadMap {
    using Operator = Row;

    c10::SymDimVector padding;  // left, right, top, bottom, front, back

    static auto fields(auto& self) { return std::tie(self.padding); }
    at::Tensor forward(const at::Tensor& input) const { return Row::kForward(input, padding); }
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const {
        using Signature = at::Tensor(const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef);
        static const auto op = find_operator_of_package<Signature>(Row::kQualifiedOp);
        return op.call(grad_output, input_size, padding);
    }
};

}  // namespace torch_aclnn
