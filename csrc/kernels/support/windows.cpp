#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

}  // namespace

void WindowAxis::find_runs() {
    const int64_t in = static_cast<int64_t>(first.size());
    run_end.resize(in);
    for (int64_t i = in - 1; i >= 0; --i) {
        const bool like_next = i + 1 < in && first[i] == first[i + 1] && last[i] == last[i + 1];
        run_end[i] = like_next ? run_end[i + 1] : i + 1;
    }
}

int64_t WindowAxis::run_count() const {
    int64_t count = 0;
    for (int64_t i = 0; i < in(); i = run_end[i]) ++count;
    return count;
}

AxisTable WindowAxis::table(int64_t out, const void* scale) const {
    return {static_cast<int64_t>(first.size()), out, first.data(), last.data(), run_end.data(), scale};
}

WindowAxis pooling_axis(const PoolingAxis& pooling) {
    WindowAxis axis(pooling.in, pooling.out);
    for (int64_t i = 0; i < pooling.in; ++i) {
        // The windows that hold i start in (i - kernel, i].
        const int64_t past_start = i + pooling.padding - pooling.kernel;
        axis.first[i] = past_start < 0 ? 0 : std::min(pooling.out, past_start / pooling.step + 1);
        axis.last[i] = std::min(pooling.out, (i + pooling.padding) / pooling.step + 1);
    }
    for (int64_t o = 0; o < pooling.out; ++o) axis.divisor[o] = pooling.divisor(o);
    return axis;
}

WindowAxis adaptive_axis(int64_t in, int64_t out) {
    WindowAxis axis(in, out);
    for (int64_t i = 0; i < in; ++i) {
        axis.first[i] = i * out / in;
        axis.last[i] = ceil_div((i + 1) * out, in);
    }
    for (int64_t o = 0; o < out; ++o) axis.divisor[o] = ceil_div((o + 1) * in, out) - o * in / out;
    return axis;
}

}  // namespace torch_aclnn::kernels
