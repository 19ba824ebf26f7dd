// Creation, fill, cast and copy.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"

#define ATEN_FAMILY "creation"
// Steps that lead from the start to the end.
static void require_progress(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step) {
    const double by = step.toDouble(), distance = end.toDouble() - start.toDouble();
    if (!(by > 0 || by < 0) || (by > 0 && distance < 0) || (by < 0 && distance > 0))
        torch_aclnn::host::refuse("step", c10::str("a number that leads from start, ", start, ", to end, ", end), c10::str(step));
}

ATEN_ENTRY(aclnnInplaceCopy, ANY, (Out, selfRef), (In, src)) {
    selfRef.copy_(src);
}
ATEN_ENTRY(aclnnCast, ANY, (In, self), (DType, dtype), (Out, out)) {
    out.copy_(self.to(dtype));
}

ATEN_ENTRY(aclnnInplaceZero, NUMBERS, (Out, selfRef)) {
    selfRef.zero_();
}
ATEN_ENTRY(aclnnInplaceOne, NUMBERS, (Out, selfRef)) {
    selfRef.fill_(1);
}
ATEN_ENTRY(aclnnInplaceFillScalar, NUMBERS, (Out, selfRef), (Scalar, value)) {
    selfRef.fill_(value);
}
ATEN_ENTRY(aclnnInplaceFillTensor, NUMBERS, (Out, selfRef), (In, value)) {
    selfRef.fill_(value.reshape({}));
}
ATEN_ENTRY(aclnnInplaceFillDiagonal, ANY, (Out, selfRef), (Scalar, fillValue), (Bool, wrap)) {
    selfRef.fill_diagonal_(fillValue, wrap);
}

ATEN_CHECKED_ENTRY(aclnnArange, NUMBERS, require_progress(start, end, step), (Scalar, start), (Scalar, end), (Scalar, step), (Out, out)) {
    at::arange_out(out, start, end, step);
}
ATEN_CHECKED_ENTRY(aclnnRange, ANY, require_progress(start, end, step), (Scalar, start), (Scalar, end), (Scalar, step), (Out, out)) {
    at::range_out(out, start, end, step);
}
ATEN_ENTRY(aclnnLinspace, NUMBERS, (Scalar, start), (Scalar, end), (NotNegative, steps), (Out, out)) {
    at::linspace_out(out, start, end, steps);
}
ATEN_ENTRY(aclnnLogSpace, ANY, (Scalar, start), (Scalar, end), (NotNegative, steps), (Double, base), (Out, result)) {
    at::logspace_out(result, start, end, steps, base);
}
ATEN_ENTRY(aclnnEye, NUMBERS, (NotNegative, n), (NotNegative, m), (Out, out)) {
    at::eye_out(out, n, m);
}

// onValue where the class is the one that the element names, offValue elsewhere.
ATEN_CHECKED_ENTRY(aclnnOneHot, INTEGRAL, require_dim("axis", axis, self.dim() + 1), (In, self), (NotNegative, numClasses), (In, onValue),
                   (In, offValue), (Int, axis), (Out, out)) {
    std::vector<int64_t> along_axis(self.dim() + 1, 1);
    along_axis[at::maybe_wrap_dim(axis, self.dim() + 1)] = numClasses;
    const at::Tensor classes = at::arange(numClasses, self.options()).reshape(along_axis);
    out.copy_(at::where(at::eq(self.unsqueeze(axis), classes), onValue.reshape({}), offValue.reshape({})));
}

ATEN_ENTRY(aclnnComplex, ANY, (In, real), (In, imag), (Out, out)) {
    at::complex_out(out, real, imag);
}
