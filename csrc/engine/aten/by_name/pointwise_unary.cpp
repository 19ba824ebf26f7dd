// Operators on each element of one tensor.
#include <cmath>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

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
