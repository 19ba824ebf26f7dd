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

#include <optional>
#include <string>
#include <utility>

#include "torch_compatibility.h"

namespace torch_aclnn {

// Whether a graph is to be recorded through this argument.
template <class T>
bool records(const T&) {
    return false;
}
inline bool records(const at::Tensor& tensor) {
    return at::GradMode::is_enabled() && tensor.requires_grad();
}
inline bool records(const std::optional<at::Tensor>& tensor) {
    return tensor && records(*tensor);
}

template <class T>
bool has_tangent(const T&) {
    return false;
}
// Of torch's only level of forward mode.
inline bool has_tangent(const at::Tensor& tensor) {
    return tensor._fw_grad(0).defined();
}
inline bool has_tangent(const std::optional<at::Tensor>& tensor) {
    return tensor && has_tangent(*tensor);
}

// The nodes would lose tangents without a word.
template <class... Arguments>
void refuse_tangents(const char* name, const Arguments&... arguments) {
    TORCH_CHECK_NOT_IMPLEMENTED(!(... || has_tangent(arguments)), name,
                                ": forward-mode differentiation is not implemented; use reverse mode (torch.func.vjp, grad, jacrev), or "
                                "call torch_aclnn.functional inside the forward-mode level, where it is torch's own function");
}

// Gradients have the types of the forward's tensors, whatever autocast asks for around the backward.
class DerivativeNode : public torch::autograd::Node {
   public:
    torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) final {
        const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
        return differentiate(gradients);
    }

   private:
    virtual torch::autograd::variable_list differentiate(const torch::autograd::variable_list& gradients) = 0;
};

// Computes a result outside autograd and makes a Node of its derivative, from `arguments`.
template <class Node, class Compute, class... Arguments>
at::Tensor record(const Compute& compute, Arguments&&... arguments) {
    const auto node = make_node<Node>(std::forward<Arguments>(arguments)...);
    at::Tensor result;
    {
        const at::AutoDispatchBelowADInplaceOrView guard;
        result = compute();
    }
    torch::autograd::set_history(result, node);
    return result;
}

}  // namespace torch_aclnn
