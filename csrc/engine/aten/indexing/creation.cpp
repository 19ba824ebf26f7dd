// Creation, fill, cast and copy.

#include <cmath>

#include "vocabulary/indexing/creation_calls.h"

// A diagonal through more than two dimensions needs them to be alike.
static void check(const call::InplaceFillDiagonal& a) {
    const at::IntArrayRef sizes = a.selfRef.sizes();
    if (sizes.size() > 2 && std::any_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size != sizes[0]; }))
        refuse("selfRef", "2 dimensions, or more of the same size", shape_text(sizes));
}

// Scalar takes 2^63 for a number of int64_t, because it rounds the largest one to that.
static int64_t integer(const char* name, const at::Scalar& number) {
    if (number.isFloatingPoint() && !(std::abs(number.toDouble()) < 0x1p63))
        refuse(name, "a real number that fits into INT64", c10::str(number));
    return number.toLong();
}
// Refuses steps that do not lead from the start to the end, or are 0 as numbers of the output, as torch_npu does.
static void require_progress(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::ScalarType type) {
    if (at::isIntegralType(type, false) && integer("step", step) == 0)
        refuse("step", "a number other than 0 for an output of integers", c10::str(step));
    const double by = step.toDouble(), distance = end.toDouble() - start.toDouble();
    if (!(by > 0 || by < 0) || (by > 0 && distance < 0) || (by < 0 && distance > 0))
        refuse("step", c10::str("a number that leads from start, ", start, ", to end, ", end), c10::str(step));
}

// How many steps lead from the start to the end, up to it or beyond it, as torch_npu counts them for the output.
static double steps_of_integers(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, bool beyond) {
    const int64_t from = integer("start", start), to = integer("end", end), by = integer("step", step);
    const auto difference = [&](uint64_t minuend, uint64_t subtrahend) { return by > 0 ? minuend - subtrahend : subtrahend - minuend; };
    const uint64_t distance = difference(to, from), size = difference(by, 0);
    return static_cast<double>(distance / size + (beyond && distance % size != 0));
}
static double steps_of_fractions(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, bool beyond) {
    const double steps = (end.toDouble() - start.toDouble()) / step.toDouble();
    return beyond ? std::ceil(steps) : std::floor(steps);
}
static Elements counted(double steps, const at::Scalar& end) {
    if (!(steps >= 0 && steps < 0x1p53)) refuse("end", "a number of steps that can be counted", c10::str(end));
    return elements(static_cast<int64_t>(steps));
}
static Elements steps_before(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::ScalarType type) {
    const auto steps = type == at::kLong ? steps_of_integers : steps_of_fractions;
    return counted(steps(start, end, step, true), end);
}
static Elements steps_up_to(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::ScalarType type) {
    if (at::isReducedFloatingType(type)) {  // low-precision floats are computed in float32
        const float steps = (end.to<float>() - start.to<float>()) / step.to<float>();
        return counted(std::floor(steps) + 1, end);
    }
    const auto steps = at::isIntegralType(type, false) ? steps_of_integers : steps_of_fractions;
    return counted(steps(start, end, step, false) + 1, end);
}

static Expected with_classes(const at::Tensor& self, int64_t axis, int64_t classes) {
    Expected expected(self.sizes());
    expected.sizes.insert(expected.sizes.begin() + (axis < 0 ? axis + self.dim() + 1 : axis), classes);
    return expected;
}

// The result is onValue where the class is the one that the element names, and offValue elsewhere.
static void compute(const call::OneHot& a) {
    if (a.out.numel() == 0) return;  // returns before it makes all classes, which may be too many for memory
    std::vector<int64_t> along_axis(a.self.dim() + 1, 1);
    along_axis[at::maybe_wrap_dim(a.axis, a.self.dim() + 1)] = a.numClasses;
    const at::Tensor classes = at::arange(a.numClasses, a.self.options()).reshape(along_axis);
    write(a.out, at::where(at::eq(a.self.unsqueeze(a.axis), classes), a.onValue.reshape({}), a.offValue.reshape({})));
}
