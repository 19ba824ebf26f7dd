// Nodes of autograd's graph in C++. They are what torch's own functions record: eager code pays for neither Python nor its lock in the
// backward, which may run on a thread of autograd while the interpreter ends.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <mutex>
#include <optional>

#include "extension/autograd/compiled_autograd.h"
#include "torch_compatibility.h"

namespace torch_aclnn {

// Whether a graph is to be recorded through this argument.
bool records(const auto&) {
    return false;
}
inline bool records(const at::Tensor& tensor) {
    return at::GradMode::is_enabled() && tensor.requires_grad();
}
inline bool records(const std::optional<at::Tensor>& tensor) {
    return tensor && records(*tensor);
}

bool has_tangent(const auto&) {
    return false;
}
// Whether the tensor has a tangent. torch's forward mode has one level only.
inline bool has_tangent(const at::Tensor& tensor) {
    return tensor._fw_grad(0).defined();
}
inline bool has_tangent(const std::optional<at::Tensor>& tensor) {
    return tensor && has_tangent(*tensor);
}

// Refuses tensors with tangents of forward-mode differentiation, which the nodes would drop silently.
template <class... Arguments>
void refuse_tangents(const char* name, const Arguments&... arguments) {
    TORCH_CHECK_NOT_IMPLEMENTED(!(... || has_tangent(arguments)), name,
                                ": forward-mode differentiation is not implemented; use reverse mode (torch.func.vjp, grad, jacrev), or "
                                "call torch_aclnn.functional inside the forward-mode level, where it is torch's own function");
}

// Which inputs' gradients are asked for.
using Wanted = std::array<bool, 8>;

inline torch::autograd::SavedVariable keep(const at::Tensor& tensor) {
    return {tensor, /*is_output=*/false};
}
template <class T>
T keep(const T& value) {
    return value;
}
inline at::Tensor unpack(const torch::autograd::SavedVariable& kept) {
    return kept.unpack();
}
template <class T>
const T& unpack(const T& kept) {
    return kept;
}
inline void release(torch::autograd::SavedVariable& kept) {
    kept.reset_data();
}
void release(const auto&) {}

// The node of a derivative, which is an aggregate of tensors, sizes and numbers, with its members as `fields` in the order of declaration:
//
//   struct FooDerivative {
//       static constexpr const char* kName = "FooBackward";  // what autograd shows as grad_fn
//       at::Tensor factor;
//       c10::SymDimVector size;
//       static auto fields(auto& self) { return std::tie(self.factor, self.size); }
//       variable_list operator()(const variable_list& gradients, const Wanted& wanted) const;
//   };
//
// The node keeps tensors as autograd does: changes in place are noticed, hooks of saved tensors are called. A field may be a struct with
// fields of its own, which are no tensors.
template <class Derivative>
class DerivativeNode final : public torch::autograd::Node {
   public:
    DerivativeNode(const Derivative& derivative, torch::autograd::edge_list&& inputs)
        : Node(std::move(inputs)), kept_(keep_fields(derivative)) {}

    std::string name() const override { return Derivative::kName; }

    variable_list apply(variable_list&& gradients) override { return differentiate(derivative(), gradients, wanted()); }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::apply([](auto&... kept) { (release(kept), ...); }, kept_);
    }

    void compiled_args(CompiledNodeArgs& arguments) const override {
        std::apply([&](const auto&... kept) { (visit_parts(kept, CollectPart{arguments}), ...); }, kept_);
    }

    variable_list apply_with_saved(const variable_list& gradients, SwapSavedVariables& saved) override {
        std::apply([&](auto&... kept) { (visit_parts(kept, [&](auto& part) { saved.before(part); }), ...); }, kept_);
        const PackedArguments packed = pack(derivative(), wanted());
        std::apply([&](auto&... kept) { (visit_parts(kept, [&](auto& part) { saved.after(part); }), ...); }, kept_);
        const auto replay = [](const variable_list& all, const std::vector<c10::IValue>& values) {
            const auto [derivative, wanted] = unpack_arguments<Derivative, Wanted>(values);
            return differentiate(derivative, all, wanted);
        };
        static const std::string function = bind_function(saved, Derivative::kName, replay, packed.types);
        return call_function(saved, function, gradients, packed.values, next_edges());
    }

   private:
    static auto keep_fields(const Derivative& derivative) {
        return std::apply([](const auto&... fields) { return std::tuple(keep(fields)...); }, Derivative::fields(derivative));
    }

    // Gradients have the types of the forward's tensors, whatever autocast asks for around the backward.
    static variable_list differentiate(const Derivative& derivative, const variable_list& gradients, const Wanted& wanted) {
        const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
        return derivative(gradients, wanted);
    }

    // Autograd's threads may share a node, and one may release what another is about to unpack.
    Derivative derivative() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::apply([](const auto&... kept) { return Derivative{unpack(kept)...}; }, kept_);
    }

    Wanted wanted() const {
        Wanted result{};
        for (uint32_t i = 0; i < num_outputs(); ++i) result.at(i) = task_should_compute_output(i);
        return result;
    }

    decltype(keep_fields(std::declval<const Derivative&>())) kept_;
};

// Gives a result, which was computed outside autograd, its derivative by the tensors among `inputs`.
template <class Derivative, class... Inputs>
void set_derivative(const at::Tensor& result, const Derivative& derivative, const Inputs&... inputs) {
    torch::autograd::set_history(result, make_node<DerivativeNode<Derivative>>(derivative, torch::autograd::collect_next_edges(inputs...)));
}

// Computes a result outside autograd and gives it its derivative.
template <class Compute, class Derivative, class... Inputs>
at::Tensor record(const Compute& compute, const Derivative& derivative, const Inputs&... inputs) {
    at::Tensor result;
    {
        const at::AutoDispatchBelowADInplaceOrView guard;
        result = compute();
    }
    set_derivative(result, derivative, inputs...);
    return result;
}

}  // namespace torch_aclnn
