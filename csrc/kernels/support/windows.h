// The windows of one axis, and which input indices they hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace torch_aclnn::kernels {

// What a loop reads of an axis: input index i lies in the windows [first[i], last[i]); [i, run_end[i]) is a run of indices in the same
// windows.
struct AxisTable {
    int64_t in, out;
    const int64_t* first;
    const int64_t* last;
    const int64_t* run_end;
    const void* scale;  // per window, in the type of the sums; null means ones
};

// Input index i takes the output indices [first[i], last[i]); output index o was divided by divisor[o], by default 1.
struct WindowAxis {
    WindowAxis(int64_t in, int64_t out) : first(in), last(in), divisor(out, 1) {}

    std::vector<int64_t> first;
    std::vector<int64_t> last;
    std::vector<int64_t> divisor;
    std::vector<int64_t> run_end;  // filled in by find_runs

    int64_t in() const { return static_cast<int64_t>(first.size()); }
    void find_runs();
    int64_t run_count() const;  // after find_runs
    AxisTable table(int64_t out, const void* scale) const;
};

// Windows that follow each other by a step: window o covers [o * step - padding, o * step - padding + kernel) of `in` indices. step 0: they
// do not.
struct PoolingAxis {
    int64_t in, out, kernel, step, padding;
    bool count_include_pad;
    int64_t divisor_override;  // of each window; 0: its size

    int64_t begin(int64_t o) const { return std::clamp<int64_t>(o * step - padding, 0, in); }
    int64_t end(int64_t o) const { return std::clamp<int64_t>(o * step - padding + kernel, 0, in); }
    int64_t divisor(int64_t o) const {
        if (divisor_override != 0) return divisor_override;
        const int64_t start = o * step - padding;
        return count_include_pad ? std::min(start + kernel, in + padding) - start : end(o) - begin(o);
    }
};

WindowAxis pooling_axis(const PoolingAxis& axis);

// The windows of adaptive pooling: window o covers [floor(o * in / out), ceil((o + 1) * in / out)); solved for o, the same form gives the
// windows of input index i.
WindowAxis adaptive_axis(int64_t in, int64_t out);

// The reciprocals of the divisors, an axis each: one division per window of an axis instead of one per cell. Where all windows of an axis
// agree, theirs goes into the last axis's, to be rounded once, and the axis's own are left out.
template <class S, size_t N>
std::array<std::vector<S>, N> window_scales(const std::array<const WindowAxis*, N>& axes) {
    std::array<std::vector<S>, N> scales;
    double common = 1;
    for (size_t axis = 0; axis < N; ++axis) {
        const std::vector<int64_t>& divisors = axes[axis]->divisor;
        const bool uniform = std::all_of(divisors.begin(), divisors.end(), [&](int64_t d) { return d == divisors.front(); });
        if (uniform && axis + 1 < N) {
            if (!divisors.empty()) common *= static_cast<double>(divisors.front());
            continue;
        }
        scales[axis].resize(divisors.size());
        const double factor = axis + 1 < N ? 1 : common;
        for (size_t o = 0; o < divisors.size(); ++o) scales[axis][o] = static_cast<S>(1 / (factor * static_cast<double>(divisors[o])));
    }
    return scales;
}

}  // namespace torch_aclnn::kernels
