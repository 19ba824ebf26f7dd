// The operators' kernels for autograd: the functional overload records a node of its derivative, which is in autograd/; what has no
// derivative, `out` and forward mode, is refused where the result would silently lack one.
#pragma once

#include <torch/library.h>

#include "extension/autograd/node.h"
#include "extension/autograd/operator_call.h"

namespace torch_aclnn {

template <class Operator, class Signature = typename Operator::Signature>
struct Autograd;

template <class Operator, class... Parameters>
struct Autograd<Operator, void(Parameters...)> {
    // The operator's name is not a part of its C++ type, so it is set once, when the kernels are registered.
    static inline const char* name;

    static at::Tensor functional(c10::DispatchKeySet keys, Parameters... parameters) {
        static const auto op = find_operator_of_package<at::Tensor(Parameters...)>(name);
        refuse_tangents(name, parameters...);
        const auto compute = [&] { return op.redispatch(keys & c10::after_ADInplaceOrView_keyset, parameters...); };
        if ((... || records(parameters))) return Operator{parameters...}.record(compute);
        const at::AutoDispatchBelowADInplaceOrView guard;
        return compute();
    }

    static void into(c10::DispatchKeySet keys, Parameters... parameters, const at::Tensor& out) {
        static const auto op = find_operator_of_package<void(Parameters..., const at::Tensor&)>(name, "out");
        refuse_tangents(name, parameters..., out);
        TORCH_CHECK_NOT_IMPLEMENTED(!(... || records(parameters)) && !records(out), name,
                                    ": out: expected no argument that requires grad, because a result that is written into a tensor has no "
                                    "derivative; call it without `out`");
        // Below, torch would stop at such a view with an internal error.
        TORCH_CHECK(!out.is_conj() && !out.is_neg(), name, ": out: expected a tensor of plain numbers, got a conjugate or negative view");
        const at::AutoDispatchBelowADInplaceOrView guard;
        op.redispatch(keys & c10::after_ADInplaceOrView_keyset, parameters..., out);
    }
};

}  // namespace torch_aclnn
