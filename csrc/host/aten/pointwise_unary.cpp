// Functions of one tensor, element by element. Half types are computed in float32.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"

#define UNARY(entry_point, function)                  \
    ATEN_ENTRY(entry_point, (In, self), (Out, out)) { \
        function(out, self);                          \
    }
#define UNARY_INPLACE(entry_point, function)  \
    ATEN_ENTRY(entry_point, (Out, selfRef)) { \
        function(selfRef, selfRef);           \
    }

UNARY(aclnnAbs, at::abs_out)
UNARY(aclnnNeg, at::neg_out)
UNARY(aclnnSign, at::sign_out)
UNARY(aclnnCeil, at::ceil_out)
UNARY(aclnnFloor, at::floor_out)
UNARY(aclnnRound, at::round_out)
UNARY(aclnnTrunc, at::trunc_out)
UNARY(aclnnFrac, at::frac_out)
UNARY(aclnnBitwiseNot, at::bitwise_not_out)
UNARY(aclnnLogicalNot, at::logical_not_out)

UNARY(aclnnSqrt, at::sqrt_out)
UNARY(aclnnRsqrt, at::rsqrt_out)
UNARY(aclnnReciprocal, at::reciprocal_out)
UNARY(aclnnLog, at::log_out)
UNARY(aclnnLog1p, at::log1p_out)
UNARY(aclnnLog2, at::log2_out)
UNARY(aclnnLog10, at::log10_out)
UNARY(aclnnExp, at::exp_out)
UNARY(aclnnExp2, at::exp2_out)
UNARY(aclnnExpm1, at::expm1_out)
UNARY(aclnnSin, at::sin_out)
UNARY(aclnnCos, at::cos_out)
UNARY(aclnnTan, at::tan_out)
UNARY(aclnnSinh, at::sinh_out)
UNARY(aclnnCosh, at::cosh_out)
UNARY(aclnnTanh, at::tanh_out)
UNARY(aclnnAsin, at::asin_out)
UNARY(aclnnAcos, at::acos_out)
UNARY(aclnnAtan, at::atan_out)
UNARY(aclnnAsinh, at::asinh_out)
UNARY(aclnnAcosh, at::acosh_out)
UNARY(aclnnAtanh, at::atanh_out)
UNARY(aclnnErf, at::erf_out)
UNARY(aclnnErfc, at::erfc_out)
UNARY(aclnnErfinv, at::erfinv_out)
UNARY(aclnnSigmoid, at::sigmoid_out)
UNARY(aclnnSinc, at::sinc_out)
UNARY(aclnnAngleV2, at::angle_out)

UNARY_INPLACE(aclnnInplaceCeil, at::ceil_out)
UNARY_INPLACE(aclnnInplaceFloor, at::floor_out)
UNARY_INPLACE(aclnnInplaceFrac, at::frac_out)
UNARY_INPLACE(aclnnInplaceLogicalNot, at::logical_not_out)
UNARY_INPLACE(aclnnInplaceSqrt, at::sqrt_out)
UNARY_INPLACE(aclnnInplaceRsqrt, at::rsqrt_out)
UNARY_INPLACE(aclnnInplaceReciprocal, at::reciprocal_out)
UNARY_INPLACE(aclnnInplaceLog, at::log_out)
UNARY_INPLACE(aclnnInplaceLog1p, at::log1p_out)
UNARY_INPLACE(aclnnInplaceLog2, at::log2_out)
UNARY_INPLACE(aclnnInplaceLog10, at::log10_out)
UNARY_INPLACE(aclnnInplaceExp, at::exp_out)
UNARY_INPLACE(aclnnInplaceExp2, at::exp2_out)
UNARY_INPLACE(aclnnInplaceExpm1, at::expm1_out)
UNARY_INPLACE(aclnnInplaceSin, at::sin_out)
UNARY_INPLACE(aclnnInplaceCos, at::cos_out)
UNARY_INPLACE(aclnnInplaceTan, at::tan_out)
UNARY_INPLACE(aclnnInplaceSinh, at::sinh_out)
UNARY_INPLACE(aclnnInplaceCosh, at::cosh_out)
UNARY_INPLACE(aclnnInplaceTanh, at::tanh_out)
UNARY_INPLACE(aclnnInplaceAsin, at::asin_out)
UNARY_INPLACE(aclnnInplaceAcos, at::acos_out)
UNARY_INPLACE(aclnnInplaceAtan, at::atan_out)
UNARY_INPLACE(aclnnInplaceAsinh, at::asinh_out)
UNARY_INPLACE(aclnnInplaceAcosh, at::acosh_out)
UNARY_INPLACE(aclnnInplaceAtanh, at::atanh_out)
UNARY_INPLACE(aclnnInplaceErf, at::erf_out)
UNARY_INPLACE(aclnnInplaceErfc, at::erfc_out)
UNARY_INPLACE(aclnnInplaceErfinv, at::erfinv_out)
UNARY_INPLACE(aclnnInplaceSigmoid, at::sigmoid_out)
UNARY_INPLACE(aclnnInplaceSinc, at::sinc_out)

UNARY(aclnnSignbit, at::signbit_out)
UNARY(aclnnIsPosInf, at::isposinf_out)
UNARY(aclnnIsNegInf, at::isneginf_out)
ATEN_ENTRY(aclnnIsFinite, (In, self), (Out, out)) {
    out.copy_(at::isfinite(self));
}

ATEN_ENTRY(aclnnRoundDecimals, (In, self), (Int, decimals), (Out, out)) {
    at::round_out(out, self, decimals);
}
ATEN_ENTRY(aclnnInplaceRoundDecimals, (Out, selfRef), (Int, decimals)) {
    selfRef.round_(decimals);
}

ATEN_ENTRY(aclnnNanToNum, (In, self), (Float, nan), (Float, posinf), (Float, neginf), (Out, out)) {
    at::nan_to_num_out(out, self, nan, posinf, neginf);
}
ATEN_ENTRY(aclnnInplaceNanToNum, (Out, selfRef), (Float, nan), (Float, posinf), (Float, neginf)) {
    selfRef.nan_to_num_(nan, posinf, neginf);
}

ATEN_ENTRY(aclnnClamp, (In, self), (OptScalar, clipValueMin), (OptScalar, clipValueMax), (Out, out)) {
    at::clamp_out(out, self, clipValueMin, clipValueMax);
}
ATEN_ENTRY(aclnnClampTensor, (In, self), (OptIn, clipValueMin), (OptIn, clipValueMax), (Out, out)) {
    at::clamp_out(out, self, clipValueMin, clipValueMax);
}
ATEN_ENTRY(aclnnClampMax, (In, self), (Scalar, clipValueMax), (Out, out)) {
    at::clamp_max_out(out, self, clipValueMax);
}
ATEN_ENTRY(aclnnClampMin, (In, self), (Scalar, clipValueMin), (Out, out)) {
    at::clamp_min_out(out, self, clipValueMin);
}
ATEN_ENTRY(aclnnClampMaxTensor, (In, self), (In, bound), (Out, out)) {
    at::clamp_max_out(out, self, bound);
}
ATEN_ENTRY(aclnnClampMinTensor, (In, self), (In, bound), (Out, out)) {
    at::clamp_min_out(out, self, bound);
}
ATEN_ENTRY(aclnnInplaceClampMax, (Out, selfRef), (Scalar, clipValueMax)) {
    selfRef.clamp_max_(clipValueMax);
}
ATEN_ENTRY(aclnnInplaceClampMaxTensor, (Out, selfRef), (In, bound)) {
    selfRef.clamp_max_(bound);
}
ATEN_ENTRY(aclnnInplaceClampMinTensor, (Out, selfRef), (In, bound)) {
    selfRef.clamp_min_(bound);
}
