// Arithmetic on two or three tensors or numbers, element by element, with broadcasting. Half types are computed in float32.
#include <ATen/ATen.h>

#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/half_sums.h"
#include "engine/aten/adapter/tables.h"

#define ATEN_FAMILY "pointwise binary"
namespace torch_aclnn::host::aten {
namespace {

// How a quotient is rounded: 0 not at all, 1 towards zero, 2 downwards.
std::optional<std::string_view> read_rounding(const char* name, int mode) {
    require_between(name, mode, 0, 2);
    return mode == 0 ? std::nullopt : std::optional<std::string_view>(mode == 1 ? "trunc" : "floor");
}

// A data type that the type which the operands have together can be cast to: no integer takes a floating point number.
void require_castable(const char* name, const at::Tensor& out, at::ScalarType result) {
    if (!c10::canCast(result, out.scalar_type()))
        refuse(name, c10::str("a data type for results of type ", result),
               c10::str(out.scalar_type(), ": result type ", result, " can't be cast to the desired output type ", out.scalar_type()));
}

// The data type of a quotient must be castable to `out`'s too: a floating point type unless it is rounded, then that of the operands.
void require_quotient(const char* name, const at::Tensor& out, at::ScalarType operands, bool rounded) {
    const bool whole = c10::isIntegralType(operands, true);
    require_castable(name, out, whole && !rounded ? at::kFloat : operands);
}

// Of one data type, by broadcasting.
Expected summed(at::TensorList tensors) {
    if (tensors.empty()) refuse("tensors", "at least one tensor", "none");
    Expected expected = like(tensors[0]);
    NamedShape whole("tensors", tensors[0]);
    for (const at::Tensor& tensor : tensors) {
        if (tensor.scalar_type() != *expected.type)
            refuse("tensors", dtype_name(*expected.type) + ", as the first has", dtype_name(tensor.scalar_type()));
        expected.sizes = broadcast({whole, {"tensors", tensor}}).sizes;
        whole.sizes = expected.sizes;
    }
    return expected;
}

}  // namespace

namespace kind {
using Rounding = Kind<int32_t, std::optional<std::string_view>, std::optional<std::string_view>, read_rounding>;
}

}  // namespace torch_aclnn::host::aten

using torch_aclnn::host::aten::add_scaled;
using torch_aclnn::host::aten::interpolate;
using torch_aclnn::host::aten::require_castable;
using torch_aclnn::host::aten::require_quotient;
using torch_aclnn::host::aten::sub_scaled;
using torch_aclnn::host::aten::wrapped;

// Of a tensor and a number.
#define BINARY_NUMBER(entry_point, dtypes, function)                                                                                 \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("out", out, at::result_type(self, other)), (In, self), (Scalar, other), \
                       (Out, out, shaped_like(self))) {                                                                              \
        function(out, self, wrapped(other));                                                                                         \
    }
#define BINARY_NUMBER_INPLACE(entry_point, dtypes, function)                                                                         \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("selfRef", selfRef, at::result_type(selfRef, other)), (InOut, selfRef), \
                       (Scalar, other)) {                                                                                            \
        function(selfRef, selfRef, wrapped(other));                                                                                  \
    }

// Of a tensor, and a tensor or number that is multiplied by a factor first.
#define SCALED(entry_point, dtypes, function)                                                                                  \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("out", out, promoted_type(self, other)), (In, self), (In, other), \
                       (Scalar, alpha), (Out, out, broadcast({{"self", self}, {"other", other}}))) {                           \
        function(out, self, other, alpha);                                                                                     \
    }
#define SCALED_INPLACE(entry_point, dtypes, function)                                                                         \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("selfRef", selfRef, promoted_type(selfRef, other)),              \
                       (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"other", other}})), (In, other), (Scalar, alpha)) { \
        function(selfRef, selfRef, other, alpha);                                                                             \
    }
#define SCALED_NUMBER(entry_point, dtypes, function)                                                                               \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("out", out, promoted_type(self, other)), (In, self), (Scalar, other), \
                       (Scalar, alpha), (Out, out, shaped_like(self))) {                                                           \
        function(out, self, wrapped(other), alpha);                                                                                \
    }
#define SCALED_NUMBER_INPLACE(entry_point, dtypes, function)                                                                       \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_castable("selfRef", selfRef, promoted_type(selfRef, other)), (InOut, selfRef), \
                       (Scalar, other), (Scalar, alpha)) {                                                                         \
        function(selfRef, selfRef, wrapped(other), alpha);                                                                         \
    }

SCALED(aclnnAdd, NUMBERS, add_scaled)
SCALED_INPLACE(aclnnInplaceAdd, NUMBERS, add_scaled)
SCALED_NUMBER(aclnnAdds, NUMBERS, add_scaled)
SCALED_NUMBER_INPLACE(aclnnInplaceAdds, REAL | BOOL, add_scaled)
SCALED(aclnnSub, NUMBERS, sub_scaled)
SCALED_INPLACE(aclnnInplaceSub, NUMBERS, sub_scaled)
SCALED_NUMBER(aclnnSubs, NUMBERS, sub_scaled)
SCALED_NUMBER_INPLACE(aclnnInplaceSubs, NUMBERS, sub_scaled)
ATEN_CHECKED_ENTRY(aclnnAddV3, ANY, require_castable("out", out, promoted_type(other, self)), (Scalar, self), (In, other), (Scalar, alpha),
                   (Out, out, shaped_like(other))) {
    add_scaled(out, wrapped(self), other, alpha);
}
ATEN_ENTRY(aclnnSum, FLOAT | FLOAT16 | INT8 | INT32 | UINT8, (Tensors, tensors), (Out, out, summed(tensors))) {
    at::Tensor sum = upcast(tensors[0]);
    for (const at::Tensor& tensor : tensors.slice(1)) sum = sum + upcast(tensor);
    write(out, sum);
}
#define EXTREME(entry_point, function)                                                                          \
    ATEN_ENTRY(entry_point, FLOATING | INT8 | INT32 | INT64, (Tensors, tensors), (Out, out, summed(tensors))) { \
        at::Tensor extreme = tensors[0];                                                                        \
        for (const at::Tensor& tensor : tensors.slice(1)) extreme = function(extreme, tensor);                  \
        write(out, extreme);                                                                                    \
    }
EXTREME(aclnnMaxN, at::maximum)
EXTREME(aclnnMinN, at::minimum)
ATEN_ENTRY(aclnnRsub, REAL | COMPLEX, (In, self), (In, other), (Scalar, alpha), (Out, out, broadcast({{"self", self}, {"other", other}}))) {
    sub_scaled(out, other, self, alpha);
}
ATEN_ENTRY(aclnnRsubs, REAL | COMPLEX, (In, self), (Scalar, other), (Scalar, alpha), (Out, out, shaped_like(self))) {
    sub_scaled(out, wrapped(other), self, alpha);
}

BINARY(aclnnMul, NUMBERS, at::mul_out)
BINARY_INPLACE(aclnnInplaceMul, NUMBERS, at::mul_out)
BINARY_NUMBER(aclnnMuls, NUMBERS, at::mul_out)
BINARY_NUMBER_INPLACE(aclnnInplaceMuls, NUMBERS, at::mul_out)
ATEN_CHECKED_ENTRY(aclnnDiv, NUMBERS, require_quotient("out", out, promoted_type(self, other), false), (In, self), (In, other),
                   (Out, out, broadcast({{"self", self}, {"other", other}}))) {
    at::div_out(out, self, other);
}
ATEN_CHECKED_ENTRY(aclnnInplaceDiv, NUMBERS, require_quotient("selfRef", selfRef, promoted_type(selfRef, other), false),
                   (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"other", other}})), (In, other)) {
    at::div_out(selfRef, selfRef, other);
}
ATEN_CHECKED_ENTRY(aclnnDivs, NUMBERS, require_quotient("out", out, promoted_type(self, other), false), (In, self), (Scalar, other),
                   (Out, out, shaped_like(self))) {
    at::div_out(out, self, wrapped(other));
}
ATEN_CHECKED_ENTRY(aclnnInplaceDivs, NUMBERS, require_quotient("selfRef", selfRef, promoted_type(selfRef, other), false), (InOut, selfRef),
                   (Scalar, other)) {
    at::div_out(selfRef, selfRef, wrapped(other));
}

ATEN_CHECKED_ENTRY(aclnnDivMod, NUMBERS, require_quotient("out", out, promoted_type(self, other), mode.has_value()), (In, self),
                   (In, other), (Rounding, mode), (Out, out, broadcast({{"self", self}, {"other", other}}))) {
    at::div_out(out, self, other, mode);
}
ATEN_CHECKED_ENTRY(aclnnDivMods, NUMBERS, require_quotient("out", out, promoted_type(self, other), mode.has_value()), (In, self),
                   (Scalar, other), (Rounding, mode), (Out, out, shaped_like(self))) {
    at::div_out(out, self, wrapped(other), mode);
}
ATEN_CHECKED_ENTRY(aclnnInplaceDivMod, NUMBERS, require_quotient("selfRef", selfRef, promoted_type(selfRef, other), mode.has_value()),
                   (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"other", other}})), (In, other), (Rounding, mode)) {
    at::div_out(selfRef, selfRef, other, mode);
}
ATEN_CHECKED_ENTRY(aclnnInplaceDivMods, NUMBERS, require_quotient("selfRef", selfRef, promoted_type(selfRef, other), mode.has_value()),
                   (InOut, selfRef), (Scalar, other), (Rounding, mode)) {
    at::div_out(selfRef, selfRef, wrapped(other), mode);
}
BINARY(aclnnFloorDivide, REAL | BOOL, at::floor_divide_out)
BINARY_INPLACE(aclnnInplaceFloorDivide, REAL | BOOL, at::floor_divide_out)
BINARY_NUMBER(aclnnFloorDivides, REAL | BOOL, at::floor_divide_out)
BINARY_NUMBER_INPLACE(aclnnInplaceFloorDivides, REAL | BOOL, at::floor_divide_out)
BINARY(aclnnFmodTensor, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64, at::fmod_out)
BINARY_INPLACE(aclnnInplaceFmodTensor, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64, at::fmod_out)
BINARY_NUMBER(aclnnFmodScalar, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64, at::fmod_out)
BINARY_NUMBER_INPLACE(aclnnInplaceFmodScalar, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64, at::fmod_out)
BINARY(aclnnRemainderTensorTensor, NUMBERS, at::remainder_out)
BINARY_INPLACE(aclnnInplaceRemainderTensorTensor, NUMBERS, at::remainder_out)
BINARY_NUMBER(aclnnRemainderTensorScalar, NUMBERS, at::remainder_out)
BINARY_NUMBER_INPLACE(aclnnInplaceRemainderTensorScalar, NUMBERS, at::remainder_out)
ATEN_ENTRY(aclnnRemainderScalarTensor, FLOATING | DOUBLE | INT32 | INT64, (Scalar, self), (In, other), (Out, out, shaped_like(other))) {
    at::remainder_out(out, wrapped(self), other);
}

// Numbers are not wrapped here: ATen has special cases for exponents such as 0.5 and 2, and they round differently.
BINARY(aclnnPowTensorTensor, NUMBERS, at::pow_out)
BINARY_INPLACE(aclnnInplacePowTensorTensor, NUMBERS, at::pow_out)
ATEN_ENTRY(aclnnPowTensorScalar, NUMBERS, (In, self), (Scalar, exponent), (Out, out, shaped_like(self))) {
    at::pow_out(out, self, exponent);
}
ATEN_ENTRY(aclnnPowScalarTensor, REAL | COMPLEX, (Scalar, self), (In, exponent), (Out, out, shaped_like(exponent))) {
    at::pow_out(out, self, exponent);
}
ATEN_CHECKED_ENTRY(aclnnInplacePowTensorScalar, NUMBERS, require_castable("selfRef", selfRef, at::result_type(selfRef, exponent)),
                   (InOut, selfRef), (Scalar, exponent)) {
    at::pow_out(selfRef, selfRef, exponent);
}

BINARY(aclnnLogicalAnd, NUMBERS, at::logical_and_out)
BINARY_INPLACE(aclnnInplaceLogicalAnd, NUMBERS, at::logical_and_out)
BINARY(aclnnLogicalOr, NUMBERS, at::logical_or_out)
BINARY_INPLACE(aclnnInplaceLogicalOr, NUMBERS, at::logical_or_out)
BINARY(aclnnLogicalXor, NUMBERS, at::logical_xor_out)
BINARY(aclnnBitwiseAndTensor, INTEGRAL | UINT16 | UINT32 | UINT64 | BOOL, at::bitwise_and_out)
BINARY_INPLACE(aclnnInplaceBitwiseAndTensor, INTEGRAL | BOOL | UINT16, at::bitwise_and_out)
BINARY(aclnnBitwiseAndTensorOut, INTEGRAL | BOOL, at::bitwise_and_out)
BINARY_INPLACE(aclnnInplaceBitwiseAndTensorOut, INTEGRAL | BOOL, at::bitwise_and_out)
BINARY_NUMBER(aclnnBitwiseAndScalar, INTEGRAL | UINT16 | BOOL, at::bitwise_and_out)
BINARY_NUMBER_INPLACE(aclnnInplaceBitwiseAndScalar, INTEGRAL | BOOL | UINT16, at::bitwise_and_out)
BINARY(aclnnBitwiseOrTensor, INTEGRAL | UINT16 | UINT32 | UINT64 | BOOL, at::bitwise_or_out)
BINARY_NUMBER(aclnnBitwiseOrScalar, INTEGRAL | BOOL | UINT16, at::bitwise_or_out)
BINARY_INPLACE(aclnnInplaceBitwiseOrTensor, INTEGRAL | BOOL, at::bitwise_or_out)
BINARY_NUMBER_INPLACE(aclnnInplaceBitwiseOrScalar, INTEGRAL | BOOL, at::bitwise_or_out)
BINARY(aclnnBitwiseXorTensor, INTEGRAL | BOOL, at::bitwise_xor_out)
BINARY_INPLACE(aclnnInplaceBitwiseXorTensor, INTEGRAL | BOOL, at::bitwise_xor_out)
BINARY_NUMBER(aclnnBitwiseXorScalar, INTEGRAL | BOOL, at::bitwise_xor_out)
BINARY_NUMBER_INPLACE(aclnnInplaceBitwiseXorScalar, INTEGRAL | BOOL, at::bitwise_xor_out)
BINARY(aclnnLeftShift, INTEGRAL, at::bitwise_left_shift_out)
BINARY(aclnnRightShift, INTEGRAL, at::bitwise_right_shift_out)
ATEN_ENTRY(aclnnLeftShifts, INTEGRAL, (In, self), (Scalar, other), (Out, out, shaped_like(self))) {
    at::bitwise_left_shift_out(out, self, other);
}

BINARY(aclnnAtan2, REAL | BOOL, at::atan2_out)
BINARY_INPLACE(aclnnInplaceAtan2, REAL | BOOL, at::atan2_out)
// ATen has them of floating point numbers alone; the operator casts integers to the type of its result.
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Tensor&)>
static at::Tensor& of_results_type(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
    const auto floating = [&](const at::Tensor& values) { return values.is_floating_point() ? values : values.to(out.scalar_type()); };
    return function(out, floating(self), floating(other));
}
BINARY(aclnnLogAddExp, ANY.without(COMPLEX), of_results_type<at::logaddexp_out>)
BINARY(aclnnLogAddExp2, ANY.without(COMPLEX), of_results_type<at::logaddexp2_out>)
BINARY(aclnnGcd, INTEGRAL, at::gcd_out)
BINARY(aclnnXLogYTensor, FLOATING | INTEGRAL | BOOL, at::xlogy_out)
BINARY_INPLACE(aclnnInplaceXLogYTensor, FLOATING | INTEGRAL | BOOL, at::xlogy_out)
BINARY_NUMBER(aclnnXLogYScalarOther, REAL | BOOL, at::xlogy_out)
BINARY_NUMBER_INPLACE(aclnnInplaceXLogYScalarOther, REAL | BOOL, at::xlogy_out)
ATEN_ENTRY(aclnnXLogYScalarSelf, REAL | BOOL, (Scalar, self), (In, other), (Out, out, shaped_like(other))) {
    at::xlogy_out(out, wrapped(self), other);
}
ATEN_ENTRY(aclnnPolar, FLOAT, (In, abs), (In, angle), (ComplexOut, out, broadcast({{"abs", abs}, {"angle", angle}}))) {
    at::polar_out(out, abs, angle);
}

ATEN_ENTRY(aclnnLerp, FLOATING, (In, self), (In, end), (In, weight),
           (Out, out, broadcast({{"self", self}, {"end", end}, {"weight", weight}}))) {
    interpolate(out, self, end, weight);
}
ATEN_ENTRY(aclnnLerps, FLOATING, (In, self), (In, end), (Scalar, weight), (Out, out, broadcast({{"self", self}, {"end", end}}))) {
    interpolate(out, self, end, weight);
}
ATEN_ENTRY(aclnnInplaceLerp, FLOATING, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"end", end}, {"weight", weight}})), (In, end),
           (In, weight)) {
    interpolate(selfRef, selfRef, end, weight);
}
ATEN_ENTRY(aclnnInplaceLerps, FLOATING, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"end", end}})), (In, end), (Scalar, weight)) {
    interpolate(selfRef, selfRef, end, weight);
}

ATEN_ENTRY(aclnnAddcmul, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64, (In, self), (In, tensor1), (In, tensor2), (Scalar, value),
           (Out, out, broadcast({{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}}))) {
    at::addcmul_out(out, self, tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnAddcdiv, FLOATING | DOUBLE, (In, self), (In, tensor1), (In, tensor2), (Scalar, value),
           (Out, out, broadcast({{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}}))) {
    at::addcdiv_out(out, self, tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnInplaceAddcmul, FLOATING | DOUBLE | INT8 | UINT8 | INT32 | INT64,
           (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"tensor1", tensor1}, {"tensor2", tensor2}})), (In, tensor1), (In, tensor2),
           (Scalar, value)) {
    selfRef.addcmul_(tensor1, tensor2, value);
}
ATEN_ENTRY(aclnnInplaceAddcdiv, FLOATING | DOUBLE,
           (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"tensor1", tensor1}, {"tensor2", tensor2}})), (In, tensor1), (In, tensor2),
           (Scalar, value)) {
    selfRef.addcdiv_(tensor1, tensor2, value);
}

ATEN_ENTRY(aclnnAddRelu, FLOATING | INTEGRAL, (In, self), (In, other), (Scalar, alpha),
           (Out, out, broadcast({{"self", self}, {"other", other}}))) {
    add_scaled(out, self, other, alpha);
    out.relu_();
}
ATEN_ENTRY(aclnnInplaceAddRelu, FLOATING | INTEGRAL, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"other", other}})), (In, other),
           (Scalar, alpha)) {
    add_scaled(selfRef, selfRef, other, alpha);
    selfRef.relu_();
}
