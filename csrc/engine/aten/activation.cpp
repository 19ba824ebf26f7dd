// Activations, forward and backward.
#include <ATen/ATen.h>

#include <dlfcn.h>

#include <cstdio>

#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/tables.h"

#define ATEN_FAMILY "activation"
using namespace torch_aclnn::host::aten;

#define ACTIVATION_BACKWARD(entry_point, dtypes, function)                                                           \
    ATEN_ENTRY(entry_point, dtypes, (In, gradOutput), (In, self), (Out, gradInput, of_gradient(gradOutput, self))) { \
        function(gradInput, gradOutput, self);                                                                       \
    }

namespace {

// torch_npu's backward operators broadcast the two.
Expected of_gradient(const at::Tensor& gradOutput, const at::Tensor& self) {
    return broadcast({{"gradOutput", gradOutput}, {"self", self}});
}

// torch_npu sends gelu(approximate="tanh") to the entry points that have no mode, too; a C program that calls them means what it says.
// Written in phase 1, once per process.
void warn_of_lost_gelu_mode(const char* entry_point) {
    static const bool told = [entry_point] {
        void* const torch_npu = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
        if (torch_npu == nullptr) return false;
        dlclose(torch_npu);
        std::fprintf(
            stderr,
            "torch_aclnn: %s: torch_npu does not pass gelu's `approximate` to this entry point, so gelu has its erf form, whatever the "
            "mode. TORCH_NPU_USE_COMPATIBLE_IMPL=1, or torch_npu.npu.use_compatible_impl(True) before the first gelu, makes it "
            "call the V2 entry points, which take the mode.\n",
            entry_point);
        return true;
    }();
    static_cast<void>(told);
}

// Where the function falls for negative numbers, its result does not say what the argument was.
void require_result_of_growing(const char* name, const at::Scalar& slope, bool is_result) {
    if (is_result && slope.toDouble() < 0)
        torch_aclnn::host::refuse(name, "a number from 0 on, as the forward's result is given", c10::str(slope));
}

Expected halved(const at::Tensor& self, int64_t dim) {
    require_even({"self", self}, dim);
    return with_size(self.sizes(), dim, self.size(dim) / 2);
}

// One weight for all channels, or one for each: those of dimension 1.
Elements slopes(const at::Tensor& weight, const at::Tensor& self) {
    return elements(weight.numel() == 1 || self.dim() < 2 ? 1 : self.size(1));
}

}  // namespace

UNARY(aclnnSilu, FLOATING, at::silu_out)
// Integers lose the fraction.
ATEN_ENTRY(aclnnHardsigmoid, FLOATING | INT32, (In, self), (Out, out, like(self))) {
    write(out, at::hardsigmoid(at::isIntegralType(self.scalar_type(), false) ? self.to(at::kFloat) : upcast(self)));
}
UNARY(aclnnHardswish, FLOATING, at::hardswish_out)
UNARY(aclnnMish, FLOATING, at::mish_out)
UNARY(aclnnLogSigmoid, FLOATING, at::log_sigmoid_out)

ATEN_ENTRY(aclnnRelu, FLOATING | INT8 | UINT8 | INT32 | INT64, (In, self), (Out, out, like(self))) {
    at::clamp_min_out(out, self, 0);
}
ATEN_ENTRY(aclnnInplaceRelu, FLOATING | INT8 | UINT8 | INT32 | INT64, (InOut, selfRef)) {
    at::relu_(selfRef);
}
ATEN_ENTRY(aclnnInplaceHardsigmoid, FLOATING | INT32, (InOut, selfRef)) {
    write(selfRef, at::hardsigmoid(at::isIntegralType(selfRef.scalar_type(), false) ? selfRef.to(at::kFloat) : upcast(selfRef)));
}
UNARY_INPLACE(aclnnInplaceHardswish, FLOATING, at::hardswish_out)
UNARY_INPLACE(aclnnInplaceMish, FLOATING, at::mish_out)

// For the first two the second tensor is the forward's output.
ACTIVATION_BACKWARD(aclnnSigmoidBackward, FLOATING | DOUBLE | COMPLEX, at::sigmoid_backward_out)
ACTIVATION_BACKWARD(aclnnTanhBackward, FLOATING | DOUBLE, at::tanh_backward_out)
ACTIVATION_BACKWARD(aclnnSiluBackward, FLOATING, at::silu_backward_out)
ACTIVATION_BACKWARD(aclnnHardsigmoidBackward, FLOATING, at::hardsigmoid_backward_out)
ACTIVATION_BACKWARD(aclnnHardswishBackward, FLOATING, at::hardswish_backward_out)

ATEN_ENTRY(aclnnMishBackward, FLOATING, (In, gradOutput), (In, self), (Out, gradInput, of_gradient(gradOutput, self))) {
    write(gradInput, at::mish_backward(gradOutput, self));
}

ATEN_ENTRY(aclnnThresholdBackward, FLOATING | INT8 | UINT8 | INT32, (In, gradOutput), (In, self), (Scalar, threshold),
           (Out, out, of_gradient(gradOutput, self))) {
    at::threshold_backward_out(out, gradOutput, self, threshold);
}
ATEN_ENTRY(aclnnThreshold, FLOATING | INTEGRAL, (In, self), (Scalar, threshold), (Scalar, value), (Out, out, like(self))) {
    at::threshold_out(out, self, threshold, value);
}
ATEN_ENTRY(aclnnInplaceThreshold, FLOATING | INTEGRAL, (InOut, selfRef), (Scalar, threshold), (Scalar, value)) {
    at::threshold_(selfRef, threshold, value);
}

ATEN_ENTRY(aclnnLeakyRelu, FLOATING | DOUBLE, (In, self), (Scalar, negativeSlope), (Out, out, like(self))) {
    at::leaky_relu_out(out, self, negativeSlope);
}
ATEN_ENTRY(aclnnInplaceLeakyRelu, FLOATING | DOUBLE, (InOut, selfRef), (Scalar, negativeSlope)) {
    at::leaky_relu_(selfRef, negativeSlope);
}
ATEN_CHECKED_ENTRY(aclnnLeakyReluBackward, FLOATING | DOUBLE, require_result_of_growing("negativeSlope", negativeSlope, selfIsResult),
                   (In, gradOutput), (In, self), (Scalar, negativeSlope), (Bool, selfIsResult), (Out, out, of_gradient(gradOutput, self))) {
    at::leaky_relu_backward_out(out, gradOutput, self, negativeSlope, selfIsResult);
}

// ATen's kernel for plain tensors takes one shape and data type only.
static at::Tensor gelu_gradient(const at::Tensor& gradient, const at::Tensor& input, std::string_view approximate) {
    const std::vector<at::Tensor> tensors = at::broadcast_tensors({gradient, input});
    const at::ScalarType type = at::result_type(gradient, input);
    return at::gelu_backward(tensors[0].to(type), tensors[1].to(type), approximate);
}
ATEN_CHECKED_ENTRY(aclnnGelu, FLOATING, warn_of_lost_gelu_mode("aclnnGelu"), (In, self), (Out, out, like(self))) {
    write(out, at::gelu(self, "none"));
}
ATEN_CHECKED_ENTRY(aclnnGeluBackward, FLOATING, warn_of_lost_gelu_mode("aclnnGeluBackward"), (In, gradOutput), (In, self),
                   (Out, gradInput, of_gradient(gradOutput, self))) {
    write(gradInput, gelu_gradient(gradOutput, self, "none"));
}
ATEN_ENTRY(aclnnGeluV2, FLOATING, (In, x), (GeluMode, approximate), (Out, y, like(x))) {
    write(y, at::gelu(x, approximate));
}
ATEN_ENTRY(aclnnGeluBackwardV2, FLOATING, (In, dy), (In, x), (GeluName, approximate), (Out, dx, broadcast({{"dy", dy}, {"x", x}}))) {
    write(dx, gelu_gradient(dy, x, approximate));
}

// The logistic approximation of gelu.
ATEN_ENTRY(aclnnFastGelu, FLOATING, (In, self), (Out, out, like(self))) {
    const at::Tensor x = upcast(self);
    write(out, x * at::sigmoid(x * 1.702));
}
ATEN_ENTRY(aclnnFastGeluBackward, FLOATING, (In, gradOutput), (In, self), (Out, gradInput, of_gradient(gradOutput, self))) {
    const at::Tensor x = upcast(self), s = at::sigmoid(x * 1.702);
    write(gradInput, upcast(gradOutput) * s * (1 + 1.702 * x * (1 - s)));
}

ATEN_ENTRY(aclnnSoftplus, FLOATING, (In, self), (Scalar, beta), (Scalar, threshold), (Out, out, like(self))) {
    at::softplus_out(out, self, beta, threshold);
}
ATEN_ENTRY(aclnnSoftplusBackward, FLOATING | DOUBLE, (In, gradOutput), (In, self), (Scalar, beta), (Scalar, threshold),
           (Out, gradInput, of_gradient(gradOutput, self))) {
    at::softplus_backward_out(gradInput, gradOutput, self, beta, threshold);
}
ATEN_ENTRY(aclnnSoftshrink, FLOATING, (In, self), (NotNegativeScalar, lambd), (Out, out, like(self))) {
    at::softshrink_out(out, self, lambd);
}
ATEN_ENTRY(aclnnSoftshrinkBackward, FLOATING, (In, gradOutput), (In, self), (Scalar, lambd),
           (Out, gradInput, of_gradient(gradOutput, self))) {
    at::softshrink_backward_out(gradInput, gradOutput, self, lambd);
}
ATEN_ENTRY(aclnnHardshrink, FLOATING, (In, self), (Scalar, lambd), (Out, out, like(self))) {
    at::hardshrink_out(out, self, lambd);
}
ATEN_ENTRY(aclnnHardshrinkBackward, FLOATING, (In, gradOutput), (In, self), (Scalar, lambd),
           (Out, gradInput, of_gradient(gradOutput, self))) {
    at::hardshrink_backward_out(gradInput, gradOutput, self, lambd);
}

ATEN_ENTRY(aclnnElu, FLOATING | DOUBLE, (In, self), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale), (Out, out, like(self))) {
    at::elu_out(out, self, alpha, scale, inputScale);
}
ATEN_ENTRY(aclnnInplaceElu, FLOATING | DOUBLE, (InOut, selfRef), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale)) {
    at::elu_(selfRef, alpha, scale, inputScale);
}
ATEN_CHECKED_ENTRY(aclnnEluBackward, FLOATING, require_result_of_growing("alpha", alpha, isResult), (In, gradOutput), (Scalar, alpha),
                   (Scalar, scale), (Scalar, inputScale), (Bool, isResult), (In, selfOrResult),
                   (Out, out, broadcast({{"gradOutput", gradOutput}, {"selfOrResult", selfOrResult}}))) {
    at::elu_backward_out(out, gradOutput, alpha, scale, inputScale, isResult, selfOrResult);
}
ATEN_ENTRY(aclnnSeluBackward, FLOATING | INT8 | INT32, (In, gradOutput), (In, result, like(gradOutput)),
           (Out, gradInput, like(gradOutput))) {
    constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
    const auto numbers = [](const at::Tensor& tensor) { return tensor.is_floating_point() ? upcast(tensor) : tensor.to(at::kFloat); };
    write(gradInput, at::elu_backward(numbers(gradOutput), kAlpha, kScale, 1, true, numbers(result)));
}
ATEN_ENTRY(aclnnCelu, FLOATING, (In, self), (NonzeroScalar, alpha), (Out, out, like(self))) {
    at::celu_out(out, self, alpha);
}
ATEN_ENTRY(aclnnInplaceCelu, FLOATING, (InOut, selfRef), (NonzeroScalar, alpha)) {
    at::celu_(selfRef, alpha);
}

ATEN_ENTRY(aclnnHardtanh, NUMBERS, (In, self), (Scalar, clipMin), (Scalar, clipMax), (Out, out, like(self))) {
    at::hardtanh_out(out, self, clipMin, clipMax);
}
ATEN_ENTRY(aclnnInplaceHardtanh, NUMBERS, (InOut, selfRef), (Scalar, clipMin), (Scalar, clipMax)) {
    at::hardtanh_(selfRef, clipMin, clipMax);
}
ATEN_ENTRY(aclnnHardtanhBackward, FLOATING, (In, gradOutput), (In, self), (Scalar, min), (Scalar, max),
           (Out, out, of_gradient(gradOutput, self))) {
    at::hardtanh_backward_out(out, gradOutput, self, min, max);
}

// The buffer is ATen's own device for the backward on the CPU; torch_npu gives it no elements, and nothing is written to it.
ATEN_ENTRY(aclnnLogSigmoidForward, FLOATING, (In, self), (Out, out, like(self)), (OptOut, buffer, any_shape())) {
    at::log_sigmoid_out(out, self);
}
ATEN_ENTRY(aclnnLogSigmoidBackward, FLOATING, (In, gradOutput, shaped_like(self)), (In, self), (OptIn, buffer),
           (Out, gradInput, like(self))) {
    const at::Tensor x = upcast(self);
    write(gradInput, at::log_sigmoid_backward(upcast(gradOutput), x, std::get<1>(at::log_sigmoid_forward(x))));
}

ATEN_ENTRY(aclnnGlu, FLOATING | DOUBLE, (In, self), (Dim, dim), (Out, out, halved(self, dim))) {
    write(out, at::glu(upcast(self), dim));
}
ATEN_ENTRY(aclnnGluBackward, FLOATING | DOUBLE, (In, gradOutput, halved(self, dim)), (In, self), (Dim, dim), (Out, out, like(self))) {
    write(out, at::glu_backward(upcast(gradOutput), upcast(self), dim));
}

ATEN_ENTRY(aclnnPrelu, FLOATING, (In, self), (In, weight, slopes(weight, self)), (Out, out, like(self))) {
    write(out, at::prelu(self, weight.reshape({-1})));
}
ATEN_ENTRY(aclnnPreluBackward, FLOATING, (In, gradOutput, shaped_like(self)), (In, self), (In, weight, slopes(weight, self)),
           (Out, gradInput, like(self)), (Out, gradWeight, as_many_as(weight))) {
    std::vector<int64_t> along_channels(self.dim(), 1);
    if (weight.numel() != 1) along_channels.at(1) = weight.numel();
    const at::Tensor slope = upcast(weight).reshape(along_channels);
    const auto [input, each] = at::_prelu_kernel_backward(upcast(gradOutput), upcast(self), slope);
    write(gradInput, input);
    write(gradWeight, each.sum_to_size(along_channels));
}

// The output's dtype may be float32 where the input is a half type.
ATEN_ENTRY(aclnnSoftmax, FLOATING | DOUBLE, (In, self), (Dim, dim), (Out, out, like(self))) {
    write(out, at::_softmax(upcast(self), dim, false));
}
ATEN_ENTRY(aclnnSoftmaxBackward, FLOATING, (In, gradOutput, shaped_like(output)), (In, output), (Dim, dim),
           (Out, gradInput, like(output))) {
    write(gradInput, at::_softmax_backward_data(upcast(gradOutput), upcast(output), dim, upcast(output).scalar_type()));
}
ATEN_ENTRY(aclnnLogSoftmax, FLOATING | DOUBLE, (In, self), (Dim, dim), (Out, out, like(self))) {
    write(out, at::_log_softmax(upcast(self), dim, false));
}
ATEN_ENTRY(aclnnLogSoftmaxBackward, FLOATING, (In, gradOutput, shaped_like(output)), (In, output), (Dim, dim), (Out, out, like(output))) {
    write(out, at::_log_softmax_backward_data(upcast(gradOutput), upcast(output), dim, upcast(output).scalar_type()));
}
