// Functions of one tensor, element by element. Half types are computed in float32.
#include <ATen/ATen.h>

#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/tables.h"

#define ATEN_FAMILY "pointwise unary"
using namespace torch_aclnn::host::aten;

#define TRUTH(entry_point, dtypes, function)                                       \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (Truth, out, shaped_like(self))) { \
        function(out, self);                                                       \
    }

template <class Bound>
static void require_bound(const std::optional<Bound>& least, const std::optional<Bound>& most) {
    if (!least && !most) torch_aclnn::host::refuse_null("clipValueMin", "a bound, where clipValueMax is null");
}

// Integers have no fraction, and ATen no kernel for them.
static at::Tensor& fraction(at::Tensor& out, const at::Tensor& self) {
    return at::isIntegralType(self.scalar_type(), false) ? out.zero_() : at::frac_out(out, self);
}

UNARY(aclnnAbs, REAL | BOOL, at::abs_out)
UNARY(aclnnNeg, FLOATING | DOUBLE | INT8 | INT32 | INT64 | COMPLEX, at::neg_out)
UNARY(aclnnSign, NUMBERS, at::sgn_out)
UNARY(aclnnCeil, REAL, at::ceil_out)
UNARY(aclnnFloor, REAL | UINT16 | UINT32 | UINT64, at::floor_out)
UNARY(aclnnRound, REAL, at::round_out)
UNARY(aclnnTrunc, FLOATING, at::trunc_out)
UNARY(aclnnFrac, FLOATING | INTEGRAL, fraction)
UNARY(aclnnBitwiseNot, INTEGRAL | BOOL, at::bitwise_not_out)
UNARY(aclnnLogicalNot, REAL | BOOL, at::logical_not_out)

UNARY(aclnnSqrt, NUMBERS, at::sqrt_out)
UNARY(aclnnSquare, ANY, at::square_out)
UNARY(aclnnRsqrt, NUMBERS, at::rsqrt_out)
UNARY(aclnnReciprocal, NUMBERS, at::reciprocal_out)
UNARY(aclnnLog, NUMBERS, at::log_out)
UNARY(aclnnLog1p, REAL | BOOL, at::log1p_out)
UNARY(aclnnLog2, NUMBERS, at::log2_out)
UNARY(aclnnLog10, NUMBERS, at::log10_out)
UNARY(aclnnExp, FLOATING | DOUBLE | COMPLEX | INT64 | BOOL, at::exp_out)
UNARY(aclnnExp2, REAL | BOOL, at::exp2_out)
UNARY(aclnnExpm1, FLOATING | INT64 | BOOL, at::expm1_out)
UNARY(aclnnSin, NUMBERS, at::sin_out)
UNARY(aclnnCos, NUMBERS, at::cos_out)
UNARY(aclnnTan, NUMBERS, at::tan_out)
UNARY(aclnnSinh, NUMBERS, at::sinh_out)
UNARY(aclnnCosh, NUMBERS, at::cosh_out)
UNARY(aclnnTanh, FLOATING | INTEGRAL | BOOL, at::tanh_out)
UNARY(aclnnAsin, REAL | BOOL, at::asin_out)
UNARY(aclnnAcos, REAL | BOOL, at::acos_out)
UNARY(aclnnAtan, REAL | BOOL, at::atan_out)
UNARY(aclnnAsinh, NUMBERS, at::asinh_out)
UNARY(aclnnAcosh, NUMBERS, at::acosh_out)
UNARY(aclnnAtanh, NUMBERS, at::atanh_out)
UNARY(aclnnErf, FLOATING | DOUBLE | INT64 | BOOL, at::erf_out)
UNARY(aclnnErfc, FLOATING | DOUBLE | INT64 | BOOL, at::erfc_out)
UNARY(aclnnErfinv, FLOATING | INTEGRAL | BOOL, at::erfinv_out)
UNARY(aclnnSigmoid, NUMBERS, at::sigmoid_out)
UNARY(aclnnSinc, REAL | BOOL, at::sinc_out)
UNARY(aclnnAngleV2, NUMBERS, at::angle_out)
UNARY(aclnnDigamma, FLOAT | FLOAT16 | DOUBLE, at::digamma_out)
UNARY(aclnnLgamma, FLOAT | FLOAT16 | DOUBLE, at::lgamma_out)

UNARY_INPLACE(aclnnInplaceNeg, FLOATING | DOUBLE | INT8 | INT32 | INT64 | COMPLEX, at::neg_out)
UNARY_INPLACE(aclnnInplaceCeil, REAL, at::ceil_out)
UNARY_INPLACE(aclnnInplaceFloor, REAL | UINT16 | UINT32 | UINT64, at::floor_out)
UNARY_INPLACE(aclnnInplaceFrac, FLOATING | INTEGRAL, fraction)
UNARY_INPLACE(aclnnInplaceRound, FLOATING | DOUBLE | INT32 | INT64, at::round_out)
UNARY_INPLACE(aclnnInplaceTrunc, FLOATING, at::trunc_out)
UNARY_INPLACE(aclnnInplaceLogicalNot, REAL | BOOL, at::logical_not_out)
UNARY_INPLACE(aclnnInplaceSqrt, NUMBERS, at::sqrt_out)
UNARY_INPLACE(aclnnInplaceRsqrt, NUMBERS, at::rsqrt_out)
UNARY_INPLACE(aclnnInplaceReciprocal, NUMBERS, at::reciprocal_out)
UNARY_INPLACE(aclnnInplaceLog, NUMBERS, at::log_out)
UNARY_INPLACE(aclnnInplaceLog1p, REAL | BOOL, at::log1p_out)
UNARY_INPLACE(aclnnInplaceLog2, NUMBERS, at::log2_out)
UNARY_INPLACE(aclnnInplaceLog10, NUMBERS, at::log10_out)
UNARY_INPLACE(aclnnInplaceExp, FLOATING | DOUBLE | COMPLEX | INT64 | BOOL, at::exp_out)
UNARY_INPLACE(aclnnInplaceExp2, REAL | BOOL, at::exp2_out)
UNARY_INPLACE(aclnnInplaceExpm1, FLOATING | INT64 | BOOL, at::expm1_out)
UNARY_INPLACE(aclnnInplaceSin, NUMBERS, at::sin_out)
UNARY_INPLACE(aclnnInplaceCos, NUMBERS, at::cos_out)
UNARY_INPLACE(aclnnInplaceTan, NUMBERS, at::tan_out)
UNARY_INPLACE(aclnnInplaceSinh, FLOATING | DOUBLE | COMPLEX, at::sinh_out)
UNARY_INPLACE(aclnnInplaceCosh, NUMBERS, at::cosh_out)
UNARY_INPLACE(aclnnInplaceTanh, FLOATING | INTEGRAL | BOOL, at::tanh_out)
UNARY_INPLACE(aclnnInplaceAsin, REAL | BOOL, at::asin_out)
UNARY_INPLACE(aclnnInplaceAcos, REAL | BOOL, at::acos_out)
UNARY_INPLACE(aclnnInplaceAtan, REAL | BOOL, at::atan_out)
UNARY_INPLACE(aclnnInplaceAsinh, NUMBERS, at::asinh_out)
UNARY_INPLACE(aclnnInplaceAcosh, NUMBERS, at::acosh_out)
UNARY_INPLACE(aclnnInplaceAtanh, NUMBERS, at::atanh_out)
UNARY_INPLACE(aclnnInplaceErf, FLOATING | DOUBLE | INT64 | BOOL, at::erf_out)
UNARY_INPLACE(aclnnInplaceErfc, FLOATING | DOUBLE | INT64 | BOOL, at::erfc_out)
UNARY_INPLACE(aclnnInplaceErfinv, FLOATING, at::erfinv_out)
UNARY_INPLACE(aclnnInplaceSigmoid, NUMBERS, at::sigmoid_out)
UNARY_INPLACE(aclnnInplaceSinc, REAL | BOOL, at::sinc_out)

ATEN_ENTRY(aclnnReal, FLOAT | FLOAT16 | COMPLEX, (In, self), (Out, out, Expected(self.sizes(), c10::toRealValueType(self.scalar_type())))) {
    write(out, at::real(self));
}

TRUTH(aclnnSignbit, ANY.without(COMPLEX), at::signbit_out)
TRUTH(aclnnIsPosInf, REAL | BOOL, at::isposinf_out)
TRUTH(aclnnIsNegInf, REAL | BOOL, at::isneginf_out)
ATEN_ENTRY(aclnnIsFinite, REAL | BOOL, (In, self), (Out, out, shaped_like(self))) {
    write(out, at::isfinite(self));
}
ATEN_ENTRY(aclnnIsInf, FLOATING, (In, x), (Out, out, shaped_like(x))) {
    write(out, at::isinf(x));
}

ATEN_ENTRY(aclnnRoundDecimals, FLOATING | DOUBLE | INT32 | INT64, (In, self), (Int, decimals), (Out, out, shaped_like(self))) {
    at::round_out(out, self, decimals);
}
ATEN_ENTRY(aclnnInplaceRoundDecimals, FLOATING | DOUBLE | INT32 | INT64, (InOut, selfRef), (Int, decimals)) {
    selfRef.round_(decimals);
}

ATEN_ENTRY(aclnnNanToNum, FLOATING | INTEGRAL | BOOL, (In, self), (Float, nan), (Float, posinf), (Float, neginf),
           (Out, out, shaped_like(self))) {
    at::nan_to_num_out(out, self, nan, posinf, neginf);
}
ATEN_ENTRY(aclnnInplaceNanToNum, FLOATING | INTEGRAL | BOOL, (InOut, selfRef), (Float, nan), (Float, posinf), (Float, neginf)) {
    selfRef.nan_to_num_(nan, posinf, neginf);
}

// Outside of [0, 1] there is no logit: with an eps from 0 on, numbers are first brought into [eps, 1 - eps].
static std::optional<double> margin(double eps) {
    return eps < 0 ? std::nullopt : std::optional(eps);
}
ATEN_ENTRY(aclnnLogit, FLOATING, (In, self), (Double, eps), (Out, out, like(self))) {
    write(out, at::logit(upcast(self), margin(eps)));
}
ATEN_ENTRY(aclnnLogitGrad, FLOATING, (In, self), (In, gradOutput, shaped_like(self)), (Double, eps), (Out, gradInput, like(self))) {
    write(gradInput, at::logit_backward(upcast(gradOutput), upcast(self), margin(eps)));
}

// Of the data type that the tensor and the numbers have together.
static Expected clamped(const at::Tensor& self, std::initializer_list<std::optional<at::Scalar>> bounds) {
    Expected expected = like(self);
    for (const std::optional<at::Scalar>& bound : bounds)
        if (bound && !c10::canCast(at::result_type(self, *bound), *expected.type)) expected.type = at::result_type(self, *bound);
    return expected;
}
ATEN_CHECKED_ENTRY(aclnnClamp, REAL, require_bound(clipValueMin, clipValueMax), (In, self), (OptScalar, clipValueMin),
                   (OptScalar, clipValueMax), (Out, out, clamped(self, {clipValueMin, clipValueMax}))) {
    at::clamp_out(out, self, clipValueMin, clipValueMax);
}
static Expected clamped(const at::Tensor& self, const std::optional<at::Tensor>& least, const std::optional<at::Tensor>& most) {
    return broadcast({{"self", self}, {"clipValueMin", least.value_or(self)}, {"clipValueMax", most.value_or(self)}});
}
ATEN_CHECKED_ENTRY(aclnnClampTensor, REAL, require_bound(clipValueMin, clipValueMax), (In, self), (OptIn, clipValueMin),
                   (OptIn, clipValueMax), (Out, out, clamped(self, clipValueMin, clipValueMax))) {
    at::clamp_out(out, self, clipValueMin, clipValueMax);
}
ATEN_ENTRY(aclnnClampMax, REAL, (In, self), (Scalar, clipValueMax), (Out, out, shaped_like(self))) {
    at::clamp_max_out(out, self, clipValueMax);
}
ATEN_ENTRY(aclnnClampMin, REAL, (In, self), (Scalar, clipValueMin), (Out, out, shaped_like(self))) {
    at::clamp_min_out(out, self, clipValueMin);
}
ATEN_ENTRY(aclnnClampMaxTensor, REAL, (In, self), (In, bound), (Out, out, broadcast({{"self", self}, {"bound", bound}}))) {
    at::clamp_max_out(out, self, bound);
}
ATEN_ENTRY(aclnnClampMinTensor, REAL, (In, self), (In, bound), (Out, out, broadcast({{"self", self}, {"bound", bound}}))) {
    at::clamp_min_out(out, self, bound);
}
ATEN_ENTRY(aclnnInplaceClampMax, REAL, (InOut, selfRef), (Scalar, clipValueMax)) {
    selfRef.clamp_max_(clipValueMax);
}
ATEN_ENTRY(aclnnInplaceClampMaxTensor, REAL, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"bound", bound}})), (In, bound)) {
    selfRef.clamp_max_(bound);
}
ATEN_ENTRY(aclnnInplaceClampMinTensor, REAL, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"bound", bound}})), (In, bound)) {
    selfRef.clamp_min_(bound);
}
