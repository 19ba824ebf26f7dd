// Sums with products that are computed in float32 and rounded once. ATen's kernels for half types round the product too, in some elements,
// depending on where they lie in memory.
#pragma once

#include <ATen/ATen.h>
#include <ATen/native/TypeProperties.h>

#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// Returns what at::result_type does, without its way through the dispatcher.
at::ScalarType promoted_type(const at::Tensor& self, const auto& other) {
    using at::native::update_result_type_state;
    return at::native::result_type(update_result_type_state(other, update_result_type_state(self, {})));
}

inline void add_scaled(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    at::isReducedFloatingType(promoted_type(self, other)) ? write(out, at::add(upcast(self), upcast(other), alpha))
                                                          : void(at::add_out(out, self, other, alpha));
}

inline void sub_scaled(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    at::isReducedFloatingType(promoted_type(self, other)) ? write(out, at::sub(upcast(self), upcast(other), alpha))
                                                          : void(at::sub_out(out, self, other, alpha));
}

inline void interpolate(at::Tensor& out, const at::Tensor& self, const at::Tensor& end, const at::Scalar& weight) {
    const bool are_alike = self.scalar_type() == end.scalar_type();  // ATen does not promote here
    are_alike && !at::isReducedFloatingType(self.scalar_type()) ? void(at::lerp_out(out, self, end, weight))
                                                                : write(out, at::lerp(upcast(self), upcast(end), weight));
}
inline void interpolate(at::Tensor& out, const at::Tensor& self, const at::Tensor& end, const at::Tensor& weight) {
    write(out, at::lerp(upcast(self), upcast(end), upcast(weight)));
}

}  // namespace torch_aclnn::host::aten
