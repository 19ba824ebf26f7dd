// Further activations: those with constants or parameters of their own, and those that are fused with a product.
#include <ATen/ATen.h>

#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/tables.h"
#include "engine/aten/composite/gated.h"

#define ATEN_FAMILY "activation"
using namespace torch_aclnn::host::aten;

namespace {

// ATen's selu has no kernel for integers, which lose the fraction.
at::Tensor& selu_out(at::Tensor& out, const at::Tensor& self) {
    return out.copy_(at::selu(self.is_floating_point() ? upcast(self) : self.to(at::kFloat)));
}

double or_one(const std::optional<at::Scalar>& beta) {
    return beta ? beta->toDouble() : 1;
}

// Half of the last dimension.
Expected half_of(const char* name, const at::Tensor& x, int64_t dim) {
    require_even({name, x}, dim);
    return {with_size(x.sizes(), dim, x.size(dim) / 2).sizes, x.scalar_type()};
}

std::string_view read_gelu_name_or_none(const char* name, const char* text) {
    return text == nullptr ? "none" : read_gelu_name(name, text);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
struct OptGeluName : Kind<const char*, std::string_view, std::string_view, read_gelu_name_or_none> {
    static constexpr bool nullable = true;
};
using OnlyTanh = Between<int64_t, 1, 1>;
}  // namespace torch_aclnn::host::aten::kind

UNARY(aclnnSelu, FLOATING | INT8 | INT32, selu_out)
UNARY_INPLACE(aclnnInplaceSelu, FLOATING | INT8 | INT32, selu_out)

// Null means 1.
ATEN_ENTRY(aclnnSwish, FLOATING, (In, self), (OptScalar, betaOptional), (Out, out, like(self))) {
    write(out, swish(upcast(self), or_one(betaOptional)));
}
ATEN_ENTRY(aclnnSwishBackward, FLOATING, (In, gradOutput, shaped_like(self)), (In, self), (OptScalar, betaOptional),
           (Out, gradInput, like(self))) {
    write(gradInput, upcast(gradOutput) * swish_slope(upcast(self), or_one(betaOptional)));
}
ATEN_ENTRY(aclnnShrink, FLOAT | FLOAT16, (In, self), (NotNegativeScalar, lambd), (Scalar, bias), (Out, out, like(self))) {
    const at::Tensor x = upcast(self), moved = x - at::sign(x) * bias;
    write(out, at::where(x.abs() <= lambd, 0, moved));
}
ATEN_ENTRY(aclnnSquaredRelu, FLOATING, (In, input), (Out, out, like(input))) {
    write(out, at::relu(upcast(input)).square());
}
BINARY(aclnnHeaviside, FLOATING, at::heaviside_out)

// As aclnnHardswishBackward.
ATEN_ENTRY(aclnnHardswishBackwardV2, ANY, (In, gradOutput), (In, self),
           (Out, out, broadcast({{"gradOutput", gradOutput}, {"self", self}}))) {
    at::hardswish_backward_out(out, gradOutput, self);
}

ATEN_ENTRY(aclnnGeluMul, FLOATING, (In, input), (OptGeluName, approximateOptional), (Out, out, half_of("input", input, -1))) {
    const Gated gated(input, -1, true);
    write(out, at::gelu(gated.activated, approximateOptional) * gated.plain);
}
// What is below the threshold counts as 0.
ATEN_ENTRY(aclnnFatreluMul, FLOATING, (In, input), (In, threshold, elements(1)), (Out, out, half_of("input", input, -1))) {
    const Gated gated(input, -1, true);
    write(out, gated.activated.masked_fill(gated.activated < upcast(threshold).reshape({}), 0) * gated.plain);
}
// Of the forward that activates the right half.
ATEN_ENTRY(aclnnGeGluBackward, FLOATING, (In, gradOutput, half_of("self", self, dim)), (In, self), (In, gelu, half_of("self", self, dim)),
           (Dim, dim), (OnlyTanh, approximate), (Out, gradInput, like(self))) {
    const Gated gated(self, dim, false);
    const at::Tensor grad = upcast(gradOutput);
    write(gradInput, at::cat({grad * upcast(gelu), at::gelu_backward(grad * gated.plain, gated.activated, "tanh")}, dim));
}
