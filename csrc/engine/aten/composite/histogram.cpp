#include "engine/aten/composite/histogram.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace torch_aclnn::host::aten {
namespace {

// The bin of a number in [low, high]; high itself counts in the last one.
using Int128 = __int128;
int64_t bin_of(int64_t value, int64_t low, int64_t high, int64_t bins) {
    const Int128 bin = (Int128(value) - low) * bins / (Int128(high) - low);
    return std::min<Int128>(bin, bins - 1);
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

}  // namespace

// Whole numbers between whole bounds are counted without rounding. A range of one point means that of the values, and if they are all
// equal, one more to each side.
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

}  // namespace torch_aclnn::host::aten
