// Registers the kernels of an operator, which is a struct of its arguments:
//
//   struct FooBackward {
//       static std::string parameters() { return "Tensor grad_output, SymInt[] input_size"; }  // as in the schema
//       using Signature = void(const at::Tensor&, c10::SymIntArrayRef);                        // the same in C++, in the members' order
//       const at::Tensor& grad_output;
//       c10::SymIntArrayRef input_size;
//
//       void check() const;                               // on every device
//       const at::Tensor& like() const;                   // has the result's dtype and device
//       at::Tensor empty_result() const;
//       void prepare_out(const at::Tensor& out) const;    // checks and resizes the result that the caller brings
//       void run_npu(const at::Tensor& result) const;     // neither is called for an empty result
//       void run_cpu(const at::Tensor& result) const;
//       template <class Compute>
//       at::Tensor record(const Compute& compute) const;  // what compute() returns, with a node of its derivative
//   };
//   TORCH_ACLNN_REGISTER(foo_backward, FooBackward)
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "extension/autograd/node.h"
#include "extension/autograd/operator_call.h"

namespace torch_aclnn {

// Makes the device current for the caller's scope. Nearly always it is already, and asking is shorter than setting it twice.
class DeviceScope {
   public:
    explicit DeviceScope(at::Device device) {
        if (device.is_cpu() || device.is_meta()) return;
        if (c10::impl::VirtualGuardImpl(device.type()).getDevice() != device) guard_.reset_device(device);
    }

   private:
    c10::OptionalDeviceGuard guard_;
};

enum class Backend { npu, cpu, meta };

// No empty tensor reaches an entry point: the documents promise nothing about them, and there is nothing to compute. A gradient is empty
// exactly where the result is. On meta all there is to know is the result's shape.
template <Backend backend, class Operator>
void run(const Operator& op, const at::Tensor& result) {
    if constexpr (backend == Backend::npu)
        if (result.numel() > 0) op.run_npu(result);
    if constexpr (backend == Backend::cpu)
        if (result.numel() > 0) op.run_cpu(result);
}

template <class Operator, class Signature = typename Operator::Signature>
struct Kernels;

template <class Operator, class... Parameters>
struct Kernels<Operator, void(Parameters...)> {
    template <Backend backend>
    static at::Tensor functional(Parameters... parameters) {
        const Operator op{parameters...};
        const DeviceScope scope(op.like().device());
        op.check();
        const at::Tensor result = op.empty_result();
        run<backend>(op, result);
        return result;
    }

    template <Backend backend>
    static void into(Parameters... parameters, const at::Tensor& out) {
        const Operator op{parameters...};
        const DeviceScope scope(op.like().device());
        op.check();
        op.prepare_out(out);
        run<backend>(op, out);
    }
};

// The operators' kernels for autograd: the functional overload records a node of its derivative, which is in autograd/; what has no
// derivative, `out` and forward mode, is refused where the result would silently lack one.
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

// The functional overload, the one that writes into `out`, and the functional one's meta kernel under a name of its own, from which
// torch_aclnn.autograd makes the fake kernel, which differs between devices. The out overload returns nothing, because torch.compile takes
// no operator outside ATen that returns one of its arguments.
inline void define(torch::Library& m, const std::string& name, const std::string& parameters) {
    m.def((name + "(" + parameters + ") -> Tensor").c_str());
    m.def((name + ".out(" + parameters + ", *, Tensor(a!) out) -> ()").c_str());
    m.def(("_" + name + "_meta(" + parameters + ") -> Tensor").c_str());
}

}  // namespace torch_aclnn

#define TORCH_ACLNN_REGISTER(op, Operator)                                      \
    TORCH_LIBRARY_FRAGMENT(torch_aclnn, m) {                                    \
        define(m, #op, Operator::parameters());                                 \
    }                                                                           \
    TORCH_LIBRARY_IMPL(torch_aclnn, PrivateUse1, m) {                           \
        m.impl(#op, &Kernels<Operator>::functional<Backend::npu>);              \
        m.impl(#op ".out", &Kernels<Operator>::into<Backend::npu>);             \
    }                                                                           \
    TORCH_LIBRARY_IMPL(torch_aclnn, CPU, m) {                                   \
        m.impl(#op, &Kernels<Operator>::functional<Backend::cpu>);              \
        m.impl(#op ".out", &Kernels<Operator>::into<Backend::cpu>);             \
    }                                                                           \
    TORCH_LIBRARY_IMPL(torch_aclnn, Meta, m) {                                  \
        m.impl("_" #op "_meta", &Kernels<Operator>::functional<Backend::meta>); \
        m.impl(#op ".out", &Kernels<Operator>::into<Backend::meta>);            \
    }                                                                           \
    TORCH_LIBRARY_IMPL(torch_aclnn, Autograd, m) {                              \
        Autograd<Operator>::name = "torch_aclnn::" #op;                         \
        m.impl(#op, &Autograd<Operator>::functional);                           \
        m.impl(#op ".out", &Autograd<Operator>::into);                          \
    }
