// Arithmetic on two or three tensors or numbers, element by element, with broadcasting. Half types are computed in float32.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/arguments.h"
#include "host/opapi/refusal.h"

namespace torch_aclnn::host::aten {
namespace {

// How a quotient is rounded: 0 not at all, 1 towards zero, 2 downwards.
std::optional<std::string_view> rounding(int mode) {
    switch (mode) {
        case 0: return std::nullopt;
        case 1: return "trunc";
        case 2: return "floor";
        default: refuse("mode", "0, 1 or 2", std::to_string(mode));
    }
}

}  // namespace
}  // namespace torch_aclnn::host::aten

using torch_aclnn::host::aten::rounding;
using torch_aclnn::host::aten::wrapped;

// self and other, where other is a tensor or a number.
#define BINARY(entry_point, function)                              \
    ATEN_ENTRY(entry_point, (In, self), (In, other), (Out, out)) { \
        function(out, self, other);                                \
    }
#define BINARY_INPLACE(entry_point, function)              \
    ATEN_ENTRY(entry_point, (Out, selfRef), (In, other)) { \
        function(selfRef, selfRef, other);                 \
    }
#define BINARY_NUMBER(entry_point, function)                           \
    ATEN_ENTRY(entry_point, (In, self), (Scalar, other), (Out, out)) { \
        function(out, self, wrapped(other));                           \
    }
#define BINARY_NUMBER_INPLACE(entry_point, function)           \
    ATEN_ENTRY(entry_point, (Out, selfRef), (Scalar, other)) { \
        function(selfRef, selfRef, wrapped(other));            \
    }

// The same with a factor for the second operand.
#define SCALED(entry_point, function)                                               \
    ATEN_ENTRY(entry_point, (In, self), (In, other), (Scalar, alpha), (Out, out)) { \
        function(out, self, other, alpha);                                          \
    }
#define SCALED_INPLACE(entry_point, function)                               \
    ATEN_ENTRY(entry_point, (Out, selfRef), (In, other), (Scalar, alpha)) { \
        function(selfRef, selfRef, other, alpha);                           \
    }
#define SCALED_NUMBER(entry_point, function)                                            \
    ATEN_ENTRY(entry_point, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) { \
        function(out, self, wrapped(other), alpha);                                     \
    }
#define SCALED_NUMBER_INPLACE(entry_point, function)                            \
    ATEN_ENTRY(entry_point, (Out, selfRef), (Scalar, other), (Scalar, alpha)) { \
        function(selfRef, selfRef, wrapped(other), alpha);                      \
    }

SCALED(aclnnAdd, at::add_out)
SCALED_INPLACE(aclnnInplaceAdd, at::add_out)
SCALED_NUMBER(aclnnAdds, at::add_out)
SCALED_NUMBER_INPLACE(aclnnInplaceAdds, at::add_out)
SCALED(aclnnSub, at::sub_out)
SCALED_INPLACE(aclnnInplaceSub, at::sub_out)
SCALED_NUMBER(aclnnSubs, at::sub_out)
SCALED_NUMBER_INPLACE(aclnnInplaceSubs, at::sub_out)
ATEN_ENTRY(aclnnRsub, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
    at::sub_out(out, other, self, alpha);
}
ATEN_ENTRY(aclnnRsubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
    at::sub_out(out, wrapped(other), self, alpha);
}

BINARY(aclnnMul, at::mul_out)
BINARY_INPLACE(aclnnInplaceMul, at::mul_out)
BINARY_NUMBER(aclnnMuls, at::mul_out)
BINARY_NUMBER_INPLACE(aclnnInplaceMuls, at::mul_out)
BINARY(aclnnDiv, at::div_out)
BINARY_INPLACE(aclnnInplaceDiv, at::div_out)
BINARY_NUMBER(aclnnDivs, at::div_out)
BINARY_NUMBER_INPLACE(aclnnInplaceDivs, at::div_out)

ATEN_ENTRY(aclnnDivMod, (In, self), (In, other), (Int32, mode), (Out, out)) {
    at::div_out(out, self, other, rounding(mode));
}
ATEN_ENTRY(aclnnDivMods, (In, self), (Scalar, other), (Int32, mode), (Out, out)) {
    at::div_out(out, self, wrapped(other), rounding(mode));
}
ATEN_ENTRY(aclnnInplaceDivMod, (Out, selfRef), (In, other), (Int32, mode)) {
    at::div_out(selfRef, selfRef, other, rounding(mode));
}
ATEN_ENTRY(aclnnInplaceDivMods, (Out, selfRef), (Scalar, other), (Int32, mode)) {
    at::div_out(selfRef, selfRef, wrapped(other), rounding(mode));
}
BINARY(aclnnFloorDivide, at::floor_divide_out)
BINARY_INPLACE(aclnnInplaceFloorDivide, at::floor_divide_out)
BINARY_NUMBER(aclnnFloorDivides, at::floor_divide_out)
BINARY_NUMBER_INPLACE(aclnnInplaceFloorDivides, at::floor_divide_out)
BINARY(aclnnFmodTensor, at::fmod_out)
BINARY_INPLACE(aclnnInplaceFmodTensor, at::fmod_out)
BINARY_NUMBER(aclnnFmodScalar, at::fmod_out)
BINARY_NUMBER_INPLACE(aclnnInplaceFmodScalar, at::fmod_out)
BINARY(aclnnRemainderTensorTensor, at::remainder_out)
BINARY_INPLACE(aclnnInplaceRemainderTensorTensor, at::remainder_out)
BINARY_NUMBER(aclnnRemainderTensorScalar, at::remainder_out)
BINARY_NUMBER_INPLACE(aclnnInplaceRemainderTensorScalar, at::remainder_out)
ATEN_ENTRY(aclnnRemainderScalarTensor, (Scalar, self), (In, other), (Out, out)) {
    at::remainder_out(out, wrapped(self), other);
}

// Numbers are not wrapped here: ATen has special cases for exponents such as 0.5 and 2, and they round differently.
BINARY(aclnnPowTensorTensor, at::pow_out)
BINARY_INPLACE(aclnnInplacePowTensorTensor, at::pow_out)
ATEN_ENTRY(aclnnPowTensorScalar, (In, self), (Scalar, exponent), (Out, out)) {
    at::pow_out(out, self, exponent);
}
ATEN_ENTRY(aclnnPowScalarTensor, (Scalar, self), (In, exponent), (Out, out)) {
    at::pow_out(out, self, exponent);
}
ATEN_ENTRY(aclnnInplacePowTensorScalar, (Out, selfRef), (Scalar, exponent)) {
    at::pow_out(selfRef, selfRef, exponent);
}

BINARY(aclnnLogicalAnd, at::logical_and_out)
BINARY_INPLACE(aclnnInplaceLogicalAnd, at::logical_and_out)
BINARY(aclnnLogicalOr, at::logical_or_out)
BINARY_INPLACE(aclnnInplaceLogicalOr, at::logical_or_out)
BINARY(aclnnLogicalXor, at::logical_xor_out)
BINARY(aclnnBitwiseAndTensor, at::bitwise_and_out)
BINARY_INPLACE(aclnnInplaceBitwiseAndTensor, at::bitwise_and_out)
BINARY_NUMBER(aclnnBitwiseAndScalar, at::bitwise_and_out)
BINARY_NUMBER_INPLACE(aclnnInplaceBitwiseAndScalar, at::bitwise_and_out)
BINARY(aclnnBitwiseOrTensor, at::bitwise_or_out)
BINARY_NUMBER(aclnnBitwiseOrScalar, at::bitwise_or_out)
BINARY(aclnnBitwiseXorTensor, at::bitwise_xor_out)
BINARY_INPLACE(aclnnInplaceBitwiseXorTensor, at::bitwise_xor_out)
BINARY_NUMBER(aclnnBitwiseXorScalar, at::bitwise_xor_out)
BINARY_NUMBER_INPLACE(aclnnInplaceBitwiseXorScalar, at::bitwise_xor_out)
BINARY(aclnnLeftShift, at::bitwise_left_shift_out)
BINARY(aclnnRightShift, at::bitwise_right_shift_out)

BINARY(aclnnAtan2, at::atan2_out)
BINARY_INPLACE(aclnnInplaceAtan2, at::atan2_out)
BINARY(aclnnLogAddExp, at::logaddexp_out)
BINARY(aclnnLogAddExp2, at::logaddexp2_out)
BINARY(aclnnGcd, at::gcd_out)
BINARY(aclnnXLogYTensor, at::xlogy_out)
BINARY_NUMBER(aclnnXLogYScalarOther, at::xlogy_out)
BINARY_NUMBER_INPLACE(aclnnInplaceXLogYScalarOther, at::xlogy_out)
ATEN_ENTRY(aclnnXLogYScalarSelf, (Scalar, self), (In, other), (Out, out)) {
    at::xlogy_out(out, wrapped(self), other);
}
ATEN_ENTRY(aclnnPolar, (In, abs), (In, angle), (Out, out)) {
    at::polar_out(out, abs, angle);
}

ATEN_ENTRY(aclnnLerp, (In, self), (In, end), (In, weight), (Out, out)) {
    at::lerp_out(out, self, end, weight);
}
ATEN_ENTRY(aclnnLerps, (In, self), (In, end), (Scalar, weight), (Out, out)) {
    at::lerp_out(out, self, end, weight);
}
ATEN_ENTRY(aclnnInplaceLerp, (Out, selfRef), (In, end), (In, weight)) {
    selfRef.lerp_(end, weight);
}
ATEN_ENTRY(aclnnInplaceLerps, (Out, selfRef), (In, end), (Scalar, weight)) {
    selfRef.lerp_(end, weight);
}

ATEN_ENTRY(aclnnAddcmul, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
    at::addcmul_out(out, self, tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnAddcdiv, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
    at::addcdiv_out(out, self, tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnInplaceAddcmul, (Out, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
    selfRef.addcmul_(tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnInplaceAddcdiv, (Out, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
    selfRef.addcdiv_(tensor1, tensor2, value);
}

ATEN_ENTRY(aclnnAddRelu, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
    at::add_out(out, self, other, alpha).relu_();
}
ATEN_ENTRY(aclnnInplaceAddRelu, (Out, selfRef), (In, other), (Scalar, alpha)) {
    at::add_out(selfRef, selfRef, other, alpha).relu_();
}
