// Operators on lists of tensors, as optimisers and gradient clipping use them. In place, `out` names the memory of the first list.
//
// A V2 takes a number by value, its first version in a tensor of one element. torch_npu prefers the V2.
#include <ATen/ATen.h>

#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/half_sums.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "foreach"
using namespace torch_aclnn::host::aten;

namespace {

template <class Compute>
void for_each(at::TensorList outs, Compute compute) {
    for (size_t i = 0; i < outs.size(); i++) {
        at::Tensor out = outs[i];
        compute(out, i);
    }
}

// How numbers are rounded, as a number.
int64_t as_round_mode(const char* name, const at::Scalar& mode) {
    switch (mode.toLong()) {
        case 1:
        case 2:
        case 3:
        case 5:
        case 7: return mode.toLong();
        default: torch_aclnn::host::refuse(name, "1 round, 2 floor, 3 ceil, 5 trunc or 7 frac", c10::str(mode));
    }
}
int64_t read_round_mode_number(const char* name, const aclScalar* handle) {
    return as_round_mode(name, read_scalar(name, handle));
}

void round_off(at::Tensor& result, const at::Tensor& x, int64_t mode) {
    switch (mode) {
        case 1: at::round_out(result, x); break;
        case 2: at::floor_out(result, x); break;
        case 3: at::ceil_out(result, x); break;
        case 5: at::trunc_out(result, x); break;
        default: at::frac_out(result, x); break;
    }
}

std::vector<Elements> one_value_each(at::TensorList tensors) {
    return std::vector<Elements>(tensors.size(), elements(1));
}

// The largest and the smallest number of none are nothing, and so are norms of negative orders.
void require_elements_for(double order, at::TensorList x) {
    for (size_t i = 0; i < x.size(); i++)
        if (x[i].numel() == 0 && (order < 0 || std::isinf(order)))
            torch_aclnn::host::refuse("x", c10::str("elements, for the norm of order ", order), c10::str("none in tensor ", i));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using RoundMode = Kind<const aclScalar*, int64_t, int64_t, read_round_mode_number>;
}

#define FOREACH_UNARY(entry_point, dtypes, function)                                  \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x), (TensorsOut, out, like(x))) {       \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x[i]); }); \
    }
#define FOREACH_LIST(entry_point, dtypes, function)                                                               \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (TensorsOut, out, like(x1))) { \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i]); });                     \
    }
#define FOREACH_LIST_ALPHA(entry_point, dtypes, function)                                                                          \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Scalar, alpha), (TensorsOut, out, like(x1))) { \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i], alpha); });                               \
    }
#define FOREACH_SCALAR(entry_point, dtypes, function)                                                  \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x), (Scalar, scalar), (TensorsOut, out, like(x))) {      \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x[i], wrapped(scalar)); }); \
    }
// The number is in a tensor.
#define FOREACH_LIST_ALPHA_TENSOR(entry_point, dtypes, function)                                             \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (In, alpha, elements(1)), \
               (TensorsOut, out, like(x1))) {                                                                \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i], alpha.item()); });  \
    }
#define FOREACH_SCALAR_TENSOR(entry_point, dtypes, function)                                                  \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x), (In, scalar, elements(1)), (TensorsOut, out, like(x))) {    \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x[i], wrapped(scalar.item())); }); \
    }
#define FOREACH_POINTWISE_SCALAR_TENSOR(entry_point, dtypes, function)                                              \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Tensors, x3, shaped_like(x1)),  \
               (In, scalar, elements(1)), (TensorsOut, out, like(x1))) {                                            \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i], x3[i], scalar.item()); }); \
    }
#define FOREACH_SCALAR_LIST(entry_point, dtypes, function)                                                                       \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_as_many({{"scalars", scalars}}, {"x", x}), (Tensors, x), (Scalars, scalars), \
                       (TensorsOut, out, like(x))) {                                                                             \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x[i], wrapped(scalars[i])); });                       \
    }
// x1 + scalar * (x2 op x3)
#define FOREACH_POINTWISE_SCALAR(entry_point, dtypes, function)                                                                      \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Tensors, x3, shaped_like(x1)), (Scalar, scalar), \
               (TensorsOut, out, like(x1))) {                                                                                        \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i], x3[i], scalar); });                         \
    }
// x1 + scalars[i] * (x2 op x3) for the i-th tensors; `scalars` is one tensor.
#define FOREACH_POINTWISE_SCALAR_LIST(entry_point, dtypes, function)                                                    \
    ATEN_ENTRY(entry_point, dtypes, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Tensors, x3, shaped_like(x1)),      \
               (In, scalars, shape({static_cast<int64_t>(x1.size())})), (TensorsOut, out, like(x1))) {                  \
        for_each(out, [&](at::Tensor& result, size_t i) { function(result, x1[i], x2[i], x3[i], scalars[i].item()); }); \
    }

FOREACH_UNARY(aclnnForeachSqrt, FLOATING, at::sqrt_out)
FOREACH_UNARY(aclnnForeachExp, FLOATING, at::exp_out)
FOREACH_UNARY(aclnnForeachExpm1, FLOATING, at::expm1_out)
FOREACH_UNARY(aclnnForeachLog, FLOATING, at::log_out)
FOREACH_UNARY(aclnnForeachLog1p, FLOATING, at::log1p_out)
FOREACH_UNARY(aclnnForeachLog2, FLOATING, at::log2_out)
FOREACH_UNARY(aclnnForeachLog10, FLOATING, at::log10_out)
FOREACH_UNARY(aclnnForeachErf, FLOATING, at::erf_out)
FOREACH_UNARY(aclnnForeachErfc, FLOATING, at::erfc_out)
FOREACH_UNARY(aclnnForeachSin, FLOATING, at::sin_out)
FOREACH_UNARY(aclnnForeachSinh, FLOATING, at::sinh_out)
FOREACH_UNARY(aclnnForeachCos, FLOATING, at::cos_out)
FOREACH_UNARY(aclnnForeachCosh, FLOATING, at::cosh_out)
FOREACH_UNARY(aclnnForeachTan, FLOATING, at::tan_out)
FOREACH_UNARY(aclnnForeachTanh, FLOATING, at::tanh_out)
FOREACH_UNARY(aclnnForeachAsin, FLOATING, at::asin_out)
FOREACH_UNARY(aclnnForeachAcos, FLOATING, at::acos_out)
FOREACH_UNARY(aclnnForeachAtan, FLOATING, at::atan_out)
FOREACH_UNARY(aclnnForeachSigmoid, FLOATING, at::sigmoid_out)
FOREACH_UNARY(aclnnForeachNeg, FLOATING | INT32, at::neg_out)
FOREACH_UNARY(aclnnForeachAbs, FLOATING, at::abs_out)
FOREACH_UNARY(aclnnForeachReciprocal, FLOATING, at::reciprocal_out)
FOREACH_UNARY(aclnnForeachSign, FLOATING | INT8 | INT32 | INT64, at::sign_out)

FOREACH_LIST_ALPHA(aclnnForeachAddListV2, FLOATING | INT32, add_scaled)
FOREACH_LIST_ALPHA(aclnnForeachSubListV2, FLOATING | INT32, sub_scaled)
FOREACH_LIST(aclnnForeachMulList, FLOATING | INT32, at::mul_out)
FOREACH_LIST(aclnnForeachDivList, FLOATING, at::div_out)
FOREACH_LIST(aclnnForeachMaximumList, FLOATING | INT32, at::maximum_out)
FOREACH_LIST(aclnnForeachMinimumList, FLOATING | INT32, at::minimum_out)
FOREACH_LIST(aclnnForeachPowList, FLOATING | INT32, at::pow_out)

FOREACH_SCALAR(aclnnForeachAddScalarV2, FLOATING | INT32, at::add_out)
FOREACH_SCALAR(aclnnForeachSubScalarV2, FLOATING | INT32, at::sub_out)
FOREACH_SCALAR(aclnnForeachMulScalarV2, FLOATING | INT32, at::mul_out)
FOREACH_SCALAR(aclnnForeachDivScalarV2, FLOATING, at::div_out)
FOREACH_SCALAR(aclnnForeachPowScalarV2, FLOATING, at::pow_out)
FOREACH_SCALAR(aclnnForeachMaximumScalarV2, FLOATING | INT32, at::maximum_out)
FOREACH_SCALAR(aclnnForeachMinimumScalarV2, FLOATING | INT32, at::minimum_out)

FOREACH_LIST_ALPHA_TENSOR(aclnnForeachAddList, FLOATING | INT32, add_scaled)
FOREACH_LIST_ALPHA_TENSOR(aclnnForeachSubList, FLOATING | INT32, sub_scaled)
FOREACH_SCALAR_TENSOR(aclnnForeachAddScalar, FLOATING | INT32, at::add_out)
FOREACH_SCALAR_TENSOR(aclnnForeachSubScalar, FLOATING | INT32, at::sub_out)
FOREACH_SCALAR_TENSOR(aclnnForeachMulScalar, FLOATING | INT32, at::mul_out)
FOREACH_SCALAR_TENSOR(aclnnForeachDivScalar, FLOATING, at::div_out)
FOREACH_SCALAR_TENSOR(aclnnForeachPowScalar, FLOATING | INT32, at::pow_out)
FOREACH_SCALAR_TENSOR(aclnnForeachMaximumScalar, FLOATING | INT32, at::maximum_out)
FOREACH_SCALAR_TENSOR(aclnnForeachMinimumScalar, FLOATING | INT32, at::minimum_out)
FOREACH_POINTWISE_SCALAR_TENSOR(aclnnForeachAddcmulScalar, FLOATING | INT32, at::addcmul_out)
FOREACH_POINTWISE_SCALAR_TENSOR(aclnnForeachAddcdivScalar, FLOATING, at::addcdiv_out)

FOREACH_SCALAR_LIST(aclnnForeachAddScalarList, FLOATING | INT32, at::add_out)
FOREACH_SCALAR_LIST(aclnnForeachSubScalarList, FLOATING | INT32, at::sub_out)
FOREACH_SCALAR_LIST(aclnnForeachMulScalarList, FLOATING | INT32, at::mul_out)
FOREACH_SCALAR_LIST(aclnnForeachDivScalarList, FLOATING, at::div_out)
FOREACH_SCALAR_LIST(aclnnForeachPowScalarList, FLOATING | INT32, at::pow_out)
FOREACH_SCALAR_LIST(aclnnForeachMaximumScalarList, FLOATING | INT32, at::maximum_out)
FOREACH_SCALAR_LIST(aclnnForeachMinimumScalarList, FLOATING | INT32, at::minimum_out)

FOREACH_POINTWISE_SCALAR(aclnnForeachAddcmulScalarV2, FLOATING | INT32, at::addcmul_out)
FOREACH_POINTWISE_SCALAR(aclnnForeachAddcdivScalarV2, FLOATING, at::addcdiv_out)
FOREACH_POINTWISE_SCALAR_LIST(aclnnForeachAddcmulScalarList, FLOATING | INT32, at::addcmul_out)
FOREACH_POINTWISE_SCALAR_LIST(aclnnForeachAddcdivScalarList, FLOATING, at::addcdiv_out)
FOREACH_POINTWISE_SCALAR_LIST(aclnnForeachAddcmulList, FLOATING | INT32, at::addcmul_out)
FOREACH_POINTWISE_SCALAR_LIST(aclnnForeachAddcdivList, FLOATING, at::addcdiv_out)

ATEN_ENTRY(aclnnForeachLerpScalar, FLOATING, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Scalar, weight), (TensorsOut, out, like(x1))) {
    for_each(out, [&](at::Tensor& result, size_t i) { interpolate(result, x1[i], x2[i], weight); });
}
ATEN_ENTRY(aclnnForeachLerpList, FLOATING, (Tensors, x1), (Tensors, x2, shaped_like(x1)), (Tensors, weights, shaped_like(x1)),
           (TensorsOut, out, like(x1))) {
    for_each(out, [&](at::Tensor& result, size_t i) { interpolate(result, x1[i], x2[i], weights[i]); });
}

ATEN_ENTRY(aclnnForeachPowScalarAndTensor, FLOATING | INT32, (Scalar, scalar), (Tensors, x), (TensorsOut, out, like(x))) {
    for_each(out, [&](at::Tensor& result, size_t i) { at::pow_out(result, scalar, x[i]); });
}

ATEN_ENTRY(aclnnForeachRoundOffNumberV2, FLOATING, (Tensors, x), (RoundMode, roundMode), (TensorsOut, out, like(x))) {
    for_each(out, [&](at::Tensor& result, size_t i) { round_off(result, x[i], roundMode); });
}
ATEN_ENTRY(aclnnForeachRoundOffNumber, FLOATING, (Tensors, x), (In, roundMode, elements(1)), (TensorsOut, out, like(x))) {
    const int64_t mode = as_round_mode("roundMode", roundMode.item());
    for_each(out, [&](at::Tensor& result, size_t i) { round_off(result, x[i], mode); });
}

// The norm of each tensor.
ATEN_CHECKED_ENTRY(aclnnForeachNorm, FLOATING, require_elements_for(scalar.toDouble(), x), (Tensors, x), (Scalar, scalar),
                   (TensorsOut, out, one_value_each(x))) {
    for_each(out, [&](at::Tensor& result, size_t i) { write(result, at::linalg_vector_norm(upcast(x[i]), scalar)); });
}

ATEN_ENTRY(aclnnForeachCopy, REAL | BOOL | UINT16 | UINT32, (Tensors, src), (TensorsOut, dst, shaped_like(src))) {
    for_each(dst, [&](at::Tensor& result, size_t i) { result.copy_(src[i]); });
}
ATEN_ENTRY(aclnnForeachZeroInplace, FLOATING | INT16 | INT32, (TensorsInOut, x)) {
    for_each(x, [](at::Tensor& result, size_t) { result.zero_(); });
}
