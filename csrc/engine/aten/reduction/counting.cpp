// Counts of values and of ranges of values.

#include <algorithm>
#include <cmath>

#include "vocabulary/reduction/counting_calls.h"

// Both this type and Int128 are wide enough for the range of any two bounds, and for its product with the number of bins.
using WideFloat = long double;

// A value equal to `high` counts in the last bin.
template <class Number>
static at::Tensor counted(const at::Tensor& values, Number low, Number high, int64_t bins) {
    at::Tensor counts = at::zeros({bins}, at::kLong);
    int64_t* const count = counts.data_ptr<int64_t>();
    const int64_t* const value = values.data_ptr<int64_t>();
    for (int64_t i = 0; i < values.numel(); i++)
        if (low <= value[i] && value[i] <= high)
            count[static_cast<int64_t>(std::min<Number>((value[i] - low) * bins / (high - low), bins - 1))]++;
    return counts;
}

static bool is_int64(double number) {
    return number == std::trunc(number) && std::abs(number) < 0x1p63;
}

// Counts the values in `bins` ranges of equal width between low and high, as int64; ATen counts floating types only. Whole numbers between
// whole bounds are counted without rounding. A range of one point means that of the values, and if they are all equal, one more to each
// side.
static at::Tensor histogram(const at::Tensor& self, double low, double high, int64_t bins) {
    const at::Tensor values = self.to(at::kLong).contiguous();
    if (values.numel() == 0) return at::zeros({bins}, at::kLong);
    if (low == high) {
        const Int128 smallest = values.min().item<int64_t>(), largest = values.max().item<int64_t>(), margin = smallest == largest;
        return counted<Int128>(values, smallest - margin, largest + margin, bins);
    }
    return is_int64(low) && is_int64(high) ? counted<Int128>(values, low, high, bins) : counted<WideFloat>(values, low, high, bins);
}

// The number of bins is the output's size: the caller knows the largest value.
static void compute(const call::Bincount& a) {
    require_indices("self", a.self, a.out.numel());
    write(a.out, at::bincount(a.self, a.weights, a.out.numel()));
}
static void check(const call::Histc& a) {
    const double low = a.min.toDouble(), high = a.max.toDouble();
    if (!std::isfinite(low) || !std::isfinite(high)) refuse("min", "a finite range", c10::str(low, " to ", high));
    if (low > high) refuse("max", c10::str("at least min, ", low), std::to_string(high));
}
static void compute(const call::Histc& a) {
    if (at::isIntegralType(a.self.scalar_type(), false))
        write(a.out, histogram(a.self, a.min.toDouble(), a.max.toDouble(), a.bins));
    else
        write(a.out, at::histc(upcast(a.self), a.bins, a.min, a.max));
}
