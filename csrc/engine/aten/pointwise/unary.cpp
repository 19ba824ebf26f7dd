// Functions of one tensor, element by element. Half types are computed in float32.

#include "vocabulary/pointwise/unary_calls.h"

// Integers have no fraction, and ATen no kernel for them.
static at::Tensor& fraction(at::Tensor& out, const at::Tensor& self) {
    return at::isIntegralType(self.scalar_type(), false) ? out.zero_() : at::frac_out(out, self);
}

// Outside of [0, 1] there is no logit: with an eps from 0 on, numbers are first brought into [eps, 1 - eps].
static std::optional<double> margin(double eps) {
    return eps < 0 ? std::nullopt : std::optional(eps);
}

// The result has the shape of self, and the data type to which self and the bounds promote.
static Expected clamped(const at::Tensor& self, std::initializer_list<std::optional<at::Scalar>> bounds) {
    Expected expected = like(self);
    for (const std::optional<at::Scalar>& bound : bounds)
        if (bound && !c10::canCast(at::result_type(self, *bound), *expected.type)) expected.type = at::result_type(self, *bound);
    return expected;
}
static Expected clamped(const at::Tensor& self, const OptTensor& least, const OptTensor& most) {
    return broadcast({{"self", self}, {"clipValueMin", least.value_or(self)}, {"clipValueMax", most.value_or(self)}});
}
