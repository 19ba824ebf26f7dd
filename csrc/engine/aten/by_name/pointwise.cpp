// Operators on the elements of tensors, and their gradients.
#include <cmath>

#include "engine/aten/by_name/call.h"

// Operators on each element of one tensor.

#define UNARY_OPERATOR(name, function) RESULT_OPERATOR(name, function(call.computing(0)))

UNARY_OPERATOR(Abs, at::abs)
UNARY_OPERATOR(Acos, at::acos)
UNARY_OPERATOR(Acosh, at::acosh)
UNARY_OPERATOR(Asin, at::asin)
UNARY_OPERATOR(Asinh, at::asinh)
UNARY_OPERATOR(Atan, at::atan)
UNARY_OPERATOR(Atanh, at::atanh)
UNARY_OPERATOR(Ceil, at::ceil)
UNARY_OPERATOR(Cos, at::cos)
UNARY_OPERATOR(Cosh, at::cosh)
UNARY_OPERATOR(Erf, at::erf)
UNARY_OPERATOR(Erfc, at::erfc)
UNARY_OPERATOR(Erfinv, at::erfinv)
UNARY_OPERATOR(Exp, at::exp)
UNARY_OPERATOR(Expm1, at::expm1)
UNARY_OPERATOR(Floor, at::floor)
UNARY_OPERATOR(Gelu, at::gelu)
UNARY_OPERATOR(HardSigmoid, at::hardsigmoid)
UNARY_OPERATOR(HardSwish, at::hardswish)
UNARY_OPERATOR(IsFinite, at::isfinite)
UNARY_OPERATOR(Log1p, at::log1p)
UNARY_OPERATOR(LogSigmoid, at::log_sigmoid)
UNARY_OPERATOR(LogicalNot, at::logical_not)
UNARY_OPERATOR(Mish, at::mish)
UNARY_OPERATOR(Neg, at::neg)
UNARY_OPERATOR(OnesLike, at::ones_like)
UNARY_OPERATOR(Reciprocal, at::reciprocal)
UNARY_OPERATOR(Relu, at::relu)
UNARY_OPERATOR(Rsqrt, at::rsqrt)
UNARY_OPERATOR(Sigmoid, at::sigmoid)
UNARY_OPERATOR(Sign, at::sign)
UNARY_OPERATOR(Sin, at::sin)
UNARY_OPERATOR(Sinh, at::sinh)
UNARY_OPERATOR(Sqrt, at::sqrt)
UNARY_OPERATOR(Square, at::square)
UNARY_OPERATOR(Tan, at::tan)
UNARY_OPERATOR(Tanh, at::tanh)
UNARY_OPERATOR(Trunc, at::trunc)
UNARY_OPERATOR(ZerosLike, at::zeros_like)

RESULT_OPERATOR(Round, at::round(call.computing(0), call.attribute<int64_t>("decimals", 0)))

// log(shift + scale x) to a base; -1 is e.
OPERATOR(Log) {
    const double base = call.attribute<float>("base", -1);
    if (base != -1 && !(base > 0)) refuse("attribute base", "a number above 0, or -1 for e", c10::str(base));
    const at::Tensor x = call.computing(0) * call.attribute<float>("scale", 1) + call.attribute<float>("shift", 0);
    if (base == -1) return call.write(0, x.log());
    if (base == 2) return call.write(0, x.log2());
    if (base == 10) return call.write(0, x.log10());
    call.write(0, x.log() / std::log(base));
}

RESULT_OPERATOR(LeakyRelu, at::leaky_relu(call.computing(0), call.attribute<float>("negative_slope", 0)))
RESULT_OPERATOR(Elu, at::elu(call.computing(0), call.attribute<float>("alpha", 1), call.attribute<float>("scale", 1),
                             call.attribute<float>("input_scale", 1)))
RESULT_OPERATOR(CeluV2, at::celu(call.computing(0), call.attribute<float>("alpha", 1)))
RESULT_OPERATOR(SoftplusV2, at::softplus(call.computing(0), call.attribute<float>("beta", 1), call.attribute<float>("threshold", 20)))
RESULT_OPERATOR(HardShrink, at::hardshrink(call.computing(0), call.attribute<float>("lambd", 0.5)))
RESULT_OPERATOR(SoftShrink, at::softshrink(call.computing(0), call.attribute<float>("lambd", 0.5)))
RESULT_OPERATOR(ThresholdV2D, at::threshold(call.computing(0), call.attribute<float>("threshold"), call.attribute<float>("value")))
OPERATOR(Swish) {
    const at::Tensor x = call.computing(0);
    call.write(0, x * at::sigmoid(x * call.attribute<float>("scale", 1)));
}
OPERATOR(GLU) {
    const int64_t dim = call.attribute<int64_t>("dim", -1);
    require_dim("attribute dim", dim, call.input(0).dim());
    require_even({"input 0", call.input(0)}, dim);
    call.write(0, at::glu(call.computing(0), dim));
}
// The logistic approximation of gelu.
OPERATOR(FastGelu) {
    const at::Tensor x = call.computing(0);
    call.write(0, x * at::sigmoid(x * 1.702));
}

// Operators on the elements of several tensors, which broadcast.

#define BINARY_OPERATOR(name, function) RESULT_OPERATOR(name, function(call.computing(0), call.computing(1)))

BINARY_OPERATOR(Add, at::add)
BINARY_OPERATOR(Atan2, at::atan2)
BINARY_OPERATOR(BitwiseAnd, at::bitwise_and)
BINARY_OPERATOR(BitwiseOr, at::bitwise_or)
BINARY_OPERATOR(BitwiseXor, at::bitwise_xor)
BINARY_OPERATOR(Equal, at::eq)
BINARY_OPERATOR(Greater, at::gt)
BINARY_OPERATOR(GreaterEqual, at::ge)
BINARY_OPERATOR(LeftShift, at::bitwise_left_shift)
BINARY_OPERATOR(Less, at::lt)
BINARY_OPERATOR(LessEqual, at::le)
BINARY_OPERATOR(LogicalAnd, at::logical_and)
BINARY_OPERATOR(LogicalOr, at::logical_or)
BINARY_OPERATOR(Maximum, at::maximum)
BINARY_OPERATOR(Minimum, at::minimum)
BINARY_OPERATOR(Mul, at::mul)
BINARY_OPERATOR(NotEqual, at::ne)
BINARY_OPERATOR(Pow, at::pow)
BINARY_OPERATOR(RealDiv, at::div)

// ATen's error for a divisor of 0 does not say which divisor it is, or where.
static at::Tensor divisor_of(Call& call) {
    const at::Tensor divisor = call.computing(1);
    if (!divisor.is_floating_point() && !call.input(0).is_floating_point()) require_nonzero("input 1", divisor);
    return divisor;
}

RESULT_OPERATOR(FloorDiv, at::floor_divide(call.computing(0), divisor_of(call)))
RESULT_OPERATOR(FloorMod, at::remainder(call.computing(0), divisor_of(call)))
RESULT_OPERATOR(Mod, at::fmod(call.computing(0), divisor_of(call)))
BINARY_OPERATOR(RightShift, at::bitwise_right_shift)
BINARY_OPERATOR(Sub, at::sub)
BINARY_OPERATOR(Xlogy, at::xlogy)

OPERATOR(LogAddExp) {
    const float base = call.attribute<float>("base", -1);
    if (base != -1 && base != 2) refuse("attribute base", "2, or -1 for e", c10::str(base));
    const at::Tensor x = call.computing(0), y = call.computing(1);
    call.write(0, base == 2 ? at::logaddexp2(x, y) : at::logaddexp(x, y));
}

RESULT_OPERATOR(AxpyV2, call.computing(0) + call.computing(2) * call.computing(1))
RESULT_OPERATOR(Addcmul, call.computing(0) + call.computing(3) * call.computing(1) * call.computing(2))
RESULT_OPERATOR(Addcdiv, call.computing(0) + call.computing(3) * call.computing(1) / call.computing(2))
OPERATOR(Lerp) {
    const at::Tensor x = call.computing(0), end = call.computing(1);
    call.write(0, at::lerp(x, end, call.computing(2).expand(at::infer_size(x.sizes(), end.sizes()))));
}

static void clip(Call& call) {
    call.write(0, at::clamp(call.computing(0), std::optional(call.computing(1)), std::optional(call.computing(2))));
}
RUN_OPERATOR(ClipByValue, clip(call))
RUN_OPERATOR(ClipByValueV2, clip(call))

RESULT_OPERATOR(MaskedFill, at::where(as_mask(call.input(1)), call.input(2).to(call.input(0).scalar_type()), call.input(0)))
RESULT_OPERATOR(Select, at::where(as_mask(call.input(0)), call.input(1), call.input(2)))

// The gradients of operators on each element.

// Computes the gradient of the input from that of the result, and from the forward's input or result.
#define BACKWARD_OPERATOR(name, ...)                                               \
    OPERATOR(name) {                                                               \
        const at::Tensor grad = call.computing(0), of_forward = call.computing(1); \
        call.write(0, __VA_ARGS__);                                                \
    }

BACKWARD_OPERATOR(ReluGrad, grad*(of_forward > 0))
BACKWARD_OPERATOR(LeakyReluGrad, at::leaky_relu_backward(grad, of_forward, call.attribute<float>("negative_slope", 0), false))
BACKWARD_OPERATOR(EluGradV2,
                  at::elu_backward(grad, call.attribute<float>("alpha", 1), call.attribute<float>("scale", 1),
                                   call.attribute<float>("input_scale", 1), call.attribute<bool>("is_result", false), of_forward))
BACKWARD_OPERATOR(HardSigmoidGrad, at::hardsigmoid_backward(grad, of_forward))
BACKWARD_OPERATOR(HardSwishGrad, at::hardswish_backward(grad, of_forward))
BACKWARD_OPERATOR(MishGrad, at::mish_backward(grad, of_forward))
BACKWARD_OPERATOR(SiluGrad, at::silu_backward(grad, of_forward))
BACKWARD_OPERATOR(LogSigmoidGrad, grad* at::sigmoid(-of_forward))
BACKWARD_OPERATOR(HardShrinkGrad, at::hardshrink_backward(grad, of_forward, call.attribute<float>("lambd", 0.5)))
BACKWARD_OPERATOR(SoftShrinkGrad, at::softshrink_backward(grad, of_forward, call.attribute<float>("lambd", 0.5)))
BACKWARD_OPERATOR(SoftplusV2Grad,
                  at::softplus_backward(grad, of_forward, call.attribute<float>("beta", 1), call.attribute<float>("threshold", 20)))
BACKWARD_OPERATOR(ThresholdGradV2D, at::threshold_backward(grad, of_forward, call.attribute<float>("threshold")))
BACKWARD_OPERATOR(GLUGrad, at::glu_backward(grad, of_forward, call.attribute<int64_t>("dim", -1)))
// The forward's result is the third input, which the gradient does not need.
BACKWARD_OPERATOR(GeluGrad, at::gelu_backward(grad, of_forward))
BACKWARD_OPERATOR(SwishGrad, at::silu_backward(grad, of_forward))
OPERATOR(FastGeluGrad) {
    const at::Tensor grad = call.computing(0), x = call.computing(1), s = at::sigmoid(x * 1.702);
    call.write(0, grad * s * (1 + 1.702 * x * (1 - s)));
}

// These have the forward's result or input first.
RESULT_OPERATOR(SigmoidGrad, at::sigmoid_backward(call.computing(1), call.computing(0)))
RESULT_OPERATOR(TanhGrad, at::tanh_backward(call.computing(1), call.computing(0)))
RESULT_OPERATOR(HardtanhGrad, at::hardtanh_backward(call.computing(1), call.computing(0), call.attribute<float>("min_val", -1),
                                                    call.attribute<float>("max_val", 1)))
