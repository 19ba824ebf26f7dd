// Derivatives of a pair of linear maps of planes, each of which is the other's derivative, so that neither needs its input's values again:
//
//   struct FooMap {
//       using Operator = rows::Foo;
//       <copies of the arguments>
//       static auto fields(auto& self);                                      // of these, in the order of declaration
//       at::Tensor forward(const at::Tensor& input) const;                   // torch's function
//       at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;  // the operator
//   };
#pragma once

#include "extension/autograd/node.h"

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

}  // namespace torch_aclnn
