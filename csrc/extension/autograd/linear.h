// Derivatives of a pair of linear maps of planes, each of which is the other's derivative, so that neither needs its input's values again:
//
//   struct FooMap {
//       using Operator = rows::Foo;
//       <copies of the arguments>
//       at::Tensor forward(const at::Tensor& input) const;                   // torch's function
//       at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;  // the operator
//   };
#pragma once

#include "extension/autograd/node.h"

namespace torch_aclnn {

template <class Map>
at::Tensor differentiable_forward(const at::Tensor& input, const Map& map);

template <class Map>
class NodeOfForward final : public DerivativeNode {
   public:
    NodeOfForward(const Map& map, const at::Tensor& input) : map_(map), input_size_(input.sym_sizes().begin(), input.sym_sizes().end()) {
        set_next_edges(torch::autograd::collect_next_edges(input));
    }
    std::string name() const override { return Map::Operator::kForwardNode; }
    torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) override {
        const at::Tensor& grad_output = gradients[0];
        return {grad_output.defined() ? map_.backward(grad_output, input_size_) : at::Tensor()};
    }

   private:
    Map map_;
    c10::SymDimVector input_size_;
};

template <class Map>
class NodeOfBackward final : public DerivativeNode {
   public:
    NodeOfBackward(const Map& map, const at::Tensor& grad_output) : map_(map) {
        set_next_edges(torch::autograd::collect_next_edges(grad_output));
    }
    std::string name() const override { return Map::Operator::kBackwardNode; }
    torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) override {
        const at::Tensor& grad_grad_input = gradients[0];
        return {grad_grad_input.defined() ? differentiable_forward(grad_grad_input, map_) : at::Tensor()};
    }

   private:
    Map map_;
};

template <class Map>
at::Tensor differentiable_forward(const at::Tensor& input, const Map& map) {
    if (!records(input)) return map.forward(input);
    refuse_tangents(Map::Operator::kForwardNode, input);
    return record<NodeOfForward<Map>>([&] { return map.forward(input); }, map, input);
}

}  // namespace torch_aclnn
