// Creation, fill, cast and copy.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "creation"
using namespace torch_aclnn::host::aten;

// A diagonal through more than two dimensions needs them to be alike.
static void require_cube(const at::Tensor& self) {
    const at::IntArrayRef sizes = self.sizes();
    if (sizes.size() > 2 && std::any_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size != sizes[0]; }))
        torch_aclnn::host::refuse("selfRef", "2 dimensions, or more of the same size", shape_text(sizes));
}

// Steps that lead from the start to the end.
static void require_progress(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step) {
    const double by = step.toDouble(), distance = end.toDouble() - start.toDouble();
    if (!(by > 0 || by < 0) || (by > 0 && distance < 0) || (by < 0 && distance > 0))
        torch_aclnn::host::refuse("step", c10::str("a number that leads from start, ", start, ", to end, ", end), c10::str(step));
}

// Scalar takes 2^63 for a number of int64_t, as the largest one is rounded to it.
static int64_t integer(const char* name, const at::Scalar& number) {
    if (number.isFloatingPoint() && !(std::abs(number.toDouble()) < 0x1p63))
        torch_aclnn::host::refuse(name, "a real number that fits into INT64", c10::str(number));
    return number.toLong();
}
// How many steps lead from the start to the end, up to it or beyond it, as torch_npu counts them for the output.
static double steps_of_integers(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, bool beyond) {
    const int64_t from = integer("start", start), to = integer("end", end), by = integer("step", step);
    if (by == 0) torch_aclnn::host::refuse("step", "a number other than 0 for an output of integers", c10::str(step));
    const auto difference = [&](uint64_t minuend, uint64_t subtrahend) { return by > 0 ? minuend - subtrahend : subtrahend - minuend; };
    const uint64_t distance = difference(to, from), size = difference(by, 0);
    return static_cast<double>(distance / size + (beyond && distance % size != 0));
}
static double steps_of_fractions(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, bool beyond) {
    const double steps = (end.toDouble() - start.toDouble()) / step.toDouble();
    return beyond ? std::ceil(steps) : std::floor(steps);
}
static Elements counted(double steps, const at::Scalar& end) {
    if (!(steps >= 0 && steps < 0x1p53)) torch_aclnn::host::refuse("end", "a number of steps that can be counted", c10::str(end));
    return elements(static_cast<int64_t>(steps));
}
static Elements steps_before(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::ScalarType type) {
    const auto steps = type == at::kLong ? steps_of_integers : steps_of_fractions;
    return counted(steps(start, end, step, true), end);
}
static Elements steps_up_to(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::ScalarType type) {
    if (at::isReducedFloatingType(type)) {  // in float32
        const float steps = (end.to<float>() - start.to<float>()) / step.to<float>();
        return counted(std::floor(steps) + 1, end);
    }
    const auto steps = at::isIntegralType(type, false) ? steps_of_integers : steps_of_fractions;
    return counted(steps(start, end, step, false) + 1, end);
}

// The classes get a dimension.
static Expected with_classes(const at::Tensor& self, int64_t axis, int64_t classes) {
    Expected expected(self.sizes());
    expected.sizes.insert(expected.sizes.begin() + (axis < 0 ? axis + self.dim() + 1 : axis), classes);
    return expected;
}

ATEN_ENTRY(aclnnInplaceCopy, ANY | EIGHT_BIT_FLOATS, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"src", src}})), (In, src)) {
    selfRef.copy_(src);
}
ATEN_ENTRY(aclnnCast, ANY | EIGHT_BIT_FLOATS, (In, self), (DType, dtype), (Out, out, shaped_like(self))) {
    write(out, self.to(dtype));
}

ATEN_ENTRY(aclnnInplaceZero, NUMBERS | UINT16, (InOut, selfRef)) {
    selfRef.zero_();
}
ATEN_ENTRY(aclnnInplaceOne, REAL | BOOL, (InOut, selfRef)) {
    selfRef.fill_(1);
}
ATEN_ENTRY(aclnnInplaceFillScalar, NUMBERS, (InOut, selfRef), (Scalar, value)) {
    selfRef.fill_(value);
}
ATEN_ENTRY(aclnnInplaceFillTensor, NUMBERS, (InOut, selfRef), (In, value, elements(1))) {
    selfRef.fill_(value.reshape({}));
}
ATEN_CHECKED_ENTRY(aclnnInplaceFillDiagonal, REAL | BOOL, require_cube(selfRef), (InOut, selfRef, rank_from(2)), (Scalar, fillValue),
                   (Bool, wrap)) {
    selfRef.fill_diagonal_(fillValue, wrap);
}

ATEN_CHECKED_ENTRY(aclnnArange, REAL | BOOL, require_progress(start, end, step), (Scalar, start), (Scalar, end), (Scalar, step),
                   (Out, out, steps_before(start, end, step, out.scalar_type()))) {
    at::arange_out(out, start, end, step);
}
ATEN_CHECKED_ENTRY(aclnnRange, ANY, require_progress(start, end, step), (Scalar, start), (Scalar, end), (Scalar, step),
                   (Out, out, steps_up_to(start, end, step, out.scalar_type()))) {
    at::range_out(out, start, end, step);
}
ATEN_ENTRY(aclnnLinspace, NUMBERS, (Scalar, start), (Scalar, end), (NotNegative, steps), (Out, out, elements(steps))) {
    at::linspace_out(out, start, end, steps);
}
ATEN_ENTRY(aclnnLogSpace, ANY, (Scalar, start), (Scalar, end), (NotNegative, steps), (Double, base), (Out, result, elements(steps))) {
    at::logspace_out(result, start, end, steps, base);
}
ATEN_ENTRY(aclnnEye, FLOATING | INTEGRAL | BOOL, (NotNegative, n), (NotNegative, m), (Out, out, shape({n, m}))) {
    at::eye_out(out, n, m);
}

// onValue where the class is the one that the element names, offValue elsewhere.
ATEN_CHECKED_ENTRY(aclnnOneHot, INT32 | INT64, require_dim("axis", axis, self.dim() + 1), (In, self), (NotNegative, numClasses),
                   (In, onValue, elements(1)), (In, offValue, elements(1)), (Int, axis), (Out, out, with_classes(self, axis, numClasses))) {
    if (out.numel() == 0) return;  // without the numbers of all classes, which may be as many as the caller likes
    std::vector<int64_t> along_axis(self.dim() + 1, 1);
    along_axis[at::maybe_wrap_dim(axis, self.dim() + 1)] = numClasses;
    const at::Tensor classes = at::arange(numClasses, self.options()).reshape(along_axis);
    write(out, at::where(at::eq(self.unsqueeze(axis), classes), onValue.reshape({}), offValue.reshape({})));
}

ATEN_ENTRY(aclnnComplex, FLOAT | DOUBLE, (In, real), (In, imag), (ComplexOut, out, broadcast({{"real", real}, {"imag", imag}}))) {
    write(out, at::complex(real, imag));  // torch_npu has them as parts of out where it conjugates
}
