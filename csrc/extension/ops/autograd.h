// The operators have no derivative of their own: torch_aclnn.autograd gives them one, in a form that torch.func and torch.compile
// understand. What is registered here passes calls through, and refuses one whose result would silently lack a gradient.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <type_traits>

namespace torch_aclnn {

template <class T>
bool is_differentiated(const T&) {
    return false;
}
// By either mode: a graph is recorded, or the tensor has a forward-mode tangent (of torch's only level).
inline bool is_differentiated(const at::Tensor& tensor) {
    return (at::GradMode::is_enabled() && tensor.requires_grad()) || tensor._fw_grad(0).defined();
}
inline bool is_differentiated(const std::optional<at::Tensor>& tensor) {
    return tensor && is_differentiated(*tensor);
}

template <auto kernel>
struct PassThrough;

template <class Result, class... Arguments, Result (*kernel)(Arguments...)>
struct PassThrough<kernel> {
    // The operator's name is not a part of its C++ type, so it is set once, when the kernel is registered.
    static inline const char* name;
    static inline const char* overload;

    static Result call(c10::DispatchKeySet keys, Arguments... arguments) {
        static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Result(Arguments...)>();
        TORCH_CHECK_NOT_IMPLEMENTED(!(... || is_differentiated(arguments)), name,
                                    ": an input requires grad or has a forward-mode tangent, but the operator itself has no derivative; "
                                    "call it through torch_aclnn.functional or torch_aclnn.autograd");
        if constexpr (std::is_void_v<Result>) {
            // The last argument is the result. Below, torch would stop at such a view with an internal error.
            const at::Tensor& out = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
            TORCH_CHECK(!out.is_conj() && !out.is_neg(), name,
                        ": out: expected a tensor of plain numbers, got a conjugate or negative view");
        }
        const at::AutoDispatchBelowADInplaceOrView guard;
        return op.redispatch(keys & c10::after_ADInplaceOrView_keyset, std::forward<Arguments>(arguments)...);
    }
};

// The pass-through for the operator whose kernels have the type of `kernel`.
template <auto kernel>
auto without_derivative(const char* name, const char* overload = "") {
    PassThrough<kernel>::name = name;
    PassThrough<kernel>::overload = overload;
    return &PassThrough<kernel>::call;
}

}  // namespace torch_aclnn
