#include "engine/aten/reduction/histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace torch_aclnn::host::aten {
namespace {

// Wide enough for the range of any two bounds, and for its product with the number of bins.
using Int128 = __int128;
using WideFloat = long double;

// High itself counts in the last bin.
template <class Number>
at::Tensor counted(const at::Tensor& values, Number low, Number high, int64_t bins) {
    at::Tensor counts = at::zeros({bins}, at::kLong);
    int64_t* const count = counts.data_ptr<int64_t>();
    const int64_t* const value = values.data_ptr<int64_t>();
    for (int64_t i = 0; i < values.numel(); i++)
        if (low <= value[i] && value[i] <= high)
            count[static_cast<int64_t>(std::min<Number>((value[i] - low) * bins / (high - low), bins - 1))]++;
    return counts;
}

bool is_int64(double number) {
    return number == std::trunc(number) && std::abs(number) < 0x1p63;
}

}  // namespace

// Whole numbers between whole bounds are counted without rounding. A range of one point means that of the values, and if they are all
// equal, one more to each side.
at::Tensor histogram(const at::Tensor& self, double low, double high, int64_t bins) {
    const at::Tensor values = self.to(at::kLong).contiguous();
    if (values.numel() == 0) return at::zeros({bins}, at::kLong);
    if (low == high) {
        const Int128 smallest = values.min().item<int64_t>(), largest = values.max().item<int64_t>(), margin = smallest == largest;
        return counted<Int128>(values, smallest - margin, largest + margin, bins);
    }
    return is_int64(low) && is_int64(high) ? counted<Int128>(values, low, high, bins) : counted<WideFloat>(values, low, high, bins);
}

}  // namespace torch_aclnn::host::aten
