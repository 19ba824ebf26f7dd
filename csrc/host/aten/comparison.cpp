// Comparison, with a tensor or a number. In place, the truth value takes the tensor's own dtype.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/arguments.h"

using torch_aclnn::host::aten::as_mask;

#define COMPARE_TENSOR(entry_point, function)                      \
    ATEN_ENTRY(entry_point, (In, self), (In, other), (Out, out)) { \
        function(out, self, other);                                \
    }
#define COMPARE_SCALAR(entry_point, function)                          \
    ATEN_ENTRY(entry_point, (In, self), (Scalar, other), (Out, out)) { \
        function(out, self, other);                                    \
    }
#define COMPARE_TENSOR_INPLACE(entry_point, function)      \
    ATEN_ENTRY(entry_point, (Out, selfRef), (In, other)) { \
        function(selfRef, selfRef, other);                 \
    }
#define COMPARE_SCALAR_INPLACE(entry_point, function)          \
    ATEN_ENTRY(entry_point, (Out, selfRef), (Scalar, other)) { \
        function(selfRef, selfRef, other);                     \
    }

COMPARE_TENSOR(aclnnEqTensor, at::eq_out)
COMPARE_TENSOR(aclnnNeTensor, at::ne_out)
COMPARE_TENSOR(aclnnLtTensor, at::lt_out)
COMPARE_TENSOR(aclnnLeTensor, at::le_out)
COMPARE_TENSOR(aclnnGtTensor, at::gt_out)
COMPARE_TENSOR(aclnnGeTensor, at::ge_out)

COMPARE_SCALAR(aclnnEqScalar, at::eq_out)
COMPARE_SCALAR(aclnnNeScalar, at::ne_out)
COMPARE_SCALAR(aclnnLtScalar, at::lt_out)
COMPARE_SCALAR(aclnnLeScalar, at::le_out)
COMPARE_SCALAR(aclnnGtScalar, at::gt_out)
COMPARE_SCALAR(aclnnGeScalar, at::ge_out)

COMPARE_TENSOR_INPLACE(aclnnInplaceEqTensor, at::eq_out)
COMPARE_TENSOR_INPLACE(aclnnInplaceNeTensor, at::ne_out)
COMPARE_TENSOR_INPLACE(aclnnInplaceLtTensor, at::lt_out)
COMPARE_TENSOR_INPLACE(aclnnInplaceLeTensor, at::le_out)
COMPARE_TENSOR_INPLACE(aclnnInplaceGtTensor, at::gt_out)
COMPARE_TENSOR_INPLACE(aclnnInplaceGeTensor, at::ge_out)

COMPARE_SCALAR_INPLACE(aclnnInplaceEqScalar, at::eq_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceNeScalar, at::ne_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceLtScalar, at::lt_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceLeScalar, at::le_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceGtScalar, at::gt_out)
COMPARE_SCALAR_INPLACE(aclnnInplaceGeScalar, at::ge_out)

COMPARE_TENSOR(aclnnMaximum, at::maximum_out)
COMPARE_TENSOR(aclnnMinimum, at::minimum_out)

ATEN_ENTRY(aclnnIsClose, (In, self), (In, other), (Double, rtol), (Double, atol), (Bool, equal_nan), (Out, out)) {
    out.copy_(at::isclose(self, other, rtol, atol, equal_nan));
}

// One truth value for the whole; tensors of different shapes differ.
ATEN_ENTRY(aclnnEqual, (In, self), (In, other), (Out, out)) {
    out.fill_(at::equal(self, other));
}

ATEN_ENTRY(aclnnSWhere, (In, condition), (In, self), (In, other), (Out, out)) {
    at::where_out(out, as_mask(condition), self, other);
}

ATEN_ENTRY(aclnnIsInTensorScalar, (In, element), (Scalar, testElement), (Bool, assumeUnique), (Bool, invert), (Out, out)) {
    at::isin_out(out, element, testElement, assumeUnique, invert);
}
ATEN_ENTRY(aclnnIsInScalarTensor, (Scalar, element), (In, testElements), (Bool, assumeUnique), (Bool, invert), (Out, out)) {
    at::isin_out(out, element, testElements, assumeUnique, invert);
}
