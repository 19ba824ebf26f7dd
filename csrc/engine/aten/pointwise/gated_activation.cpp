// Further activations: those with constants or parameters of their own, and those that are fused with a product.

#include "engine/aten/pointwise/gated.h"
#include "vocabulary/pointwise/gated_activation_calls.h"

// ATen's selu has no kernel for integers, which lose the fraction.
static at::Tensor& selu_out(at::Tensor& out, const at::Tensor& self) {
    return out.copy_(at::selu(self.is_floating_point() ? upcast(self) : self.to(at::kFloat)));
}

static double or_one(const std::optional<at::Scalar>& beta) {
    return beta ? beta->toDouble() : 1;
}

static void compute(const call::Shrink& a) {
    const at::Tensor x = upcast(a.self), moved = x - at::sign(x) * a.bias;
    write(a.out, at::where(x.abs() <= a.lambd, 0, moved));
}

static void compute(const call::GeluMul& a) {
    const Gated gated(a.input, -1, true);
    write(a.out, at::gelu(gated.activated, a.approximateOptional) * gated.plain);
}
// What is not above the threshold counts as 0.
static void compute(const call::FatreluMul& a) {
    const Gated gated(a.input, -1, true);
    write(a.out, gated.activated.masked_fill(gated.activated <= upcast(a.threshold).reshape({}), 0) * gated.plain);
}
// The forward activates the right half.
static void compute(const call::GeGluBackward& a) {
    const Gated gated(a.self, a.dim, false);
    const at::Tensor grad = upcast(a.gradOutput);
    write(a.gradInput, at::cat({grad * upcast(a.gelu), at::gelu_backward(grad * gated.plain, gated.activated, "tanh")}, a.dim));
}
