// Counts of values and of ranges of values.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "engine/aten/adapter.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace {

void require_range(const at::Scalar& min, const at::Scalar& max) {
    const double low = min.toDouble(), high = max.toDouble();
    if (!std::isfinite(low) || !std::isfinite(high)) torch_aclnn::host::refuse("min", "a finite range", c10::str(low, " to ", high));
    if (low > high) torch_aclnn::host::refuse("max", c10::str("at least min, ", low), std::to_string(high));
}

// The bin of a number in [low, high]; high itself counts in the last one.
using WideInt = __int128;
int64_t bin_of(int64_t value, int64_t low, int64_t high, int64_t bins) {
    const WideInt bin = (WideInt(value) - low) * bins / (WideInt(high) - low);
    return std::min<WideInt>(bin, bins - 1);
}
int64_t bin_of(int64_t value, double low, double high, int64_t bins) {
    return std::min<int64_t>((value - low) * bins / (high - low), bins - 1);
}

template <class Number>
at::Tensor counted(const at::Tensor& values, Number low, Number high, int64_t bins) {
    at::Tensor counts = at::zeros({bins}, at::kLong);
    int64_t* const count = counts.data_ptr<int64_t>();
    const int64_t* const value = values.data_ptr<int64_t>();
    for (int64_t i = 0; i < values.numel(); i++)
        if (low <= value[i] && value[i] <= high) count[bin_of(value[i], low, high, bins)]++;
    return counts;
}

bool is_int64(double number) {
    return number == std::trunc(number) && std::abs(number) < 0x1p63;
}

// ATen counts floating types only. Whole numbers between whole bounds are counted without rounding. A range of one point means that of the
// values, and if they are all equal, one more to each side.
at::Tensor histogram(const at::Tensor& self, double low, double high, int64_t bins) {
    const at::Tensor values = self.to(at::kLong).contiguous();
    if (low == high && values.numel() > 0) {
        const int64_t smallest = values.min().item<int64_t>(), largest = values.max().item<int64_t>();
        if (smallest < largest) return counted(values, smallest, largest, bins);
        low = high = smallest;
    }
    if (low == high) low -= 1, high += 1;
    return is_int64(low) && is_int64(high) ? counted(values, int64_t(low), int64_t(high), bins) : counted(values, low, high, bins);
}

}  // namespace

// The number of bins is the output's size.
ATEN_ENTRY(aclnnBincount, INTEGRAL, (In, self), (OptIn, weights), (NotNegative, minlength), (Out, out)) {
    out.copy_(at::bincount(self, weights, minlength));
}
ATEN_CHECKED_ENTRY(aclnnHistc, FLOATING | INTEGRAL, require_range(min, max), (In, self), (Positive, bins), (Scalar, min), (Scalar, max),
                   (Out, out)) {
    if (at::isIntegralType(self.scalar_type(), false))
        write(out, histogram(self, min.toDouble(), max.toDouble(), bins));
    else
        write(out, at::histc(wide(self), bins, min, max));
}
