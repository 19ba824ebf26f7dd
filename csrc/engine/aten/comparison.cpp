// Comparison, with a tensor or a number. In place, the truth value takes the tensor's own dtype.
#include <ATen/ATen.h>

#include <limits>

#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/tables.h"

#define ATEN_FAMILY "comparison"
using torch_aclnn::host::aten::as_mask;
using torch_aclnn::host::aten::as_signed;
using torch_aclnn::host::aten::write;

#define COMPARE_SCALAR(entry_point, dtypes, function)                                             \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (Scalar, other), (Out, out, shaped_like(self))) { \
        function(out, self, other);                                                               \
    }
#define COMPARE_SCALAR_INPLACE(entry_point, dtypes, function)            \
    ATEN_ENTRY(entry_point, dtypes, (InOut, selfRef), (Scalar, other)) { \
        function(selfRef, selfRef, other);                               \
    }

// ATen orders no wide unsigned integers: the same numbers, or, of 64 bits, others in the same order.
static at::Tensor ordered(const at::Tensor& values) {
    switch (values.scalar_type()) {
        case at::kUInt16:
        case at::kUInt32: return values.to(at::kLong);
        case at::kUInt64: return as_signed(values).bitwise_xor(std::numeric_limits<int64_t>::min());
        default: return values;
    }
}
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Tensor&)>
static at::Tensor& compared(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
    const bool is_comparable = (self.scalar_type() == at::kUInt64) == (other.scalar_type() == at::kUInt64);
    return is_comparable ? function(out, ordered(self), ordered(other)) : function(out, self, other);
}
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Scalar&)>
static at::Tensor& compared(at::Tensor& out, const at::Tensor& self, const at::Scalar& other) {
    return function(out, ordered(self), other);
}

BINARY(aclnnEqTensor, NUMBERS, at::eq_out)
BINARY(aclnnNeTensor, NUMBERS, at::ne_out)
BINARY(aclnnLtTensor, ANY.without(COMPLEX), compared<at::lt_out>)
BINARY(aclnnLeTensor, REAL | BOOL | UINT16, compared<at::le_out>)
BINARY(aclnnGtTensor, ANY.without(COMPLEX), compared<at::gt_out>)
BINARY(aclnnGeTensor, ANY.without(COMPLEX), compared<at::ge_out>)

COMPARE_SCALAR(aclnnEqScalar, NUMBERS | UINT32 | UINT64, at::eq_out)
COMPARE_SCALAR(aclnnNeScalar, NUMBERS, at::ne_out)
COMPARE_SCALAR(aclnnLtScalar, REAL | BOOL | UINT16 | UINT32, compared<at::lt_out>)
COMPARE_SCALAR(aclnnLeScalar, REAL | BOOL | UINT16, compared<at::le_out>)
COMPARE_SCALAR(aclnnGtScalar, REAL | BOOL | UINT16 | UINT32, compared<at::gt_out>)
COMPARE_SCALAR(aclnnGeScalar, ANY.without(COMPLEX), compared<at::ge_out>)
// Its one caller is torch.ge with a number in front: what is at most the number.
COMPARE_SCALAR(aclnnLessScalar, NUMBERS, at::le_out)

BINARY_INPLACE(aclnnInplaceEqTensor, NUMBERS, at::eq_out)
BINARY_INPLACE(aclnnInplaceNeTensor, NUMBERS, at::ne_out)
BINARY_INPLACE(aclnnInplaceLtTensor, REAL | BOOL, at::lt_out)
BINARY_INPLACE(aclnnInplaceLeTensor, REAL | BOOL, at::le_out)
BINARY_INPLACE(aclnnInplaceGtTensor, REAL | BOOL, at::gt_out)
BINARY_INPLACE(aclnnInplaceGeTensor, ANY.without(COMPLEX), compared<at::ge_out>)

COMPARE_SCALAR_INPLACE(aclnnInplaceEqScalar, NUMBERS, at::eq_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceNeScalar, NUMBERS, at::ne_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceLtScalar, REAL | BOOL, at::lt_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceLeScalar, REAL | BOOL, at::le_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceGtScalar, REAL | BOOL, at::gt_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceGeScalar, REAL | BOOL | UINT16 | UINT32, compared<at::ge_out>)

BINARY(aclnnMaximum, REAL | BOOL, at::maximum_out)
BINARY(aclnnMinimum, REAL | BOOL, at::minimum_out)

ATEN_ENTRY(aclnnIsClose, REAL | BOOL, (In, self), (In, other), (NotNegativeDouble, rtol), (NotNegativeDouble, atol), (Bool, equal_nan),
           (Out, out, broadcast({{"self", self}, {"other", other}}))) {
    write(out, at::isclose(self, other, rtol, atol, equal_nan));
}

// One truth value for the whole; tensors of different shapes differ.
ATEN_ENTRY(aclnnEqual, ANY.without(COMPLEX), (In, self), (In, other), (Out, out, elements(1))) {
    out.fill_(at::equal(self, other));
}

ATEN_ENTRY(aclnnSWhere, ANY.without(COMPLEX) | COMPLEX64, (Mask, condition), (In, self), (In, other),
           (Out, out, broadcast({{"condition", condition}, {"self", self}, {"other", other}}))) {
    at::where_out(out, as_mask(condition), self, other);
}

ATEN_ENTRY(aclnnIsInTensorScalar, REAL, (In, element), (Scalar, testElement), (Bool, assumeUnique), (Bool, invert),
           (Truth, out, shaped_like(element))) {
    at::isin_out(out, element, testElement, assumeUnique, invert);
}
ATEN_ENTRY(aclnnIsInScalarTensor, REAL, (Scalar, element), (In, testElements), (Bool, assumeUnique), (Bool, invert),
           (Truth, out, one_value())) {
    at::isin_out(out, element, testElements.contiguous(), assumeUnique, invert);
}
