// The windows of one axis, and which input indices they hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
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

    int64_t max_windows() const;  // of an index
};

// Input index i takes the output indices [first[i], last[i]); output index o was divided by divisor[o], by default 1. All of it is one
// piece of memory, because an allocation takes as long as a row of a small tensor.
class WindowAxis {
   public:
    WindowAxis(int64_t in, int64_t out);

    int64_t in() const { return in_; }
    int64_t out() const { return out_; }
    int64_t* first() { return numbers_.get(); }
    int64_t* last() { return numbers_.get() + in_; }
    int64_t* divisor() { return numbers_.get() + 3 * in_; }
    const int64_t* first() const { return numbers_.get(); }
    const int64_t* last() const { return numbers_.get() + in_; }
    const int64_t* run_end() const { return numbers_.get() + 2 * in_; }  // after find_runs
    const int64_t* divisor() const { return numbers_.get() + 3 * in_; }

    bool has_one_divisor() const {
        return std::all_of(divisor(), divisor() + out_, [this](int64_t d) { return d == divisor()[0]; });
    }
    int64_t max_windows() const { return table(out_, nullptr).max_windows(); }  // of an index
    bool overlap() const { return max_windows() > 1; }
    // Whether each index lies in one window of its own, by whose size nothing is divided.
    bool is_identity() const {
        if (in_ != out_) return false;
        for (int64_t i = 0; i < in_; ++i)
            if (first()[i] != i || last()[i] != i + 1 || divisor()[i] != 1) return false;
        return true;
    }
    // Whether each index lies in exactly one window; after find_runs.
    bool has_one_window_each() const;
    void find_runs();
    int64_t run_count() const;  // after find_runs
    AxisTable table(int64_t out, const void* scale) const { return {in_, out, first(), last(), run_end(), scale}; }

   private:
    int64_t in_, out_;
    std::unique_ptr<int64_t[]> numbers_;
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

// Of each index `count` in a row, in the same windows, whose divisors are multiplied.
WindowAxis repeat_each(const WindowAxis& axis, int64_t count, int64_t divisor);

// Each value so many times.
template <class S>
std::vector<S> repeat_each(const std::vector<S>& values, int64_t times) {
    std::vector<S> result;
    result.reserve(values.size() * times);
    for (const S value : values) result.insert(result.end(), times, value);
    return result;
}

// The reciprocals of the divisors, an axis each: one division per window of an axis instead of one per cell. Where all windows of an axis
// agree, theirs goes into the last axis's, to be rounded once, and the axis's own are left out.
template <class S, size_t N>
std::array<std::vector<S>, N> window_scales(const std::array<const WindowAxis*, N>& axes) {
    std::array<std::vector<S>, N> scales;
    double common = 1;
    for (size_t axis = 0; axis < N; ++axis) {
        const int64_t out = axes[axis]->out();
        const int64_t* const divisor = axes[axis]->divisor();
        const bool is_last = axis + 1 == N, uniform = axes[axis]->has_one_divisor();
        if (uniform && !is_last) {
            if (out > 0) common *= static_cast<double>(divisor[0]);
            continue;
        }
        const auto scale = [&](int64_t o) { return static_cast<S>(1 / ((is_last ? common : 1) * static_cast<double>(divisor[o]))); };
        if (uniform && out > 0) {
            scales[axis].assign(out, scale(0));
            continue;
        }
        scales[axis].resize(out);
        for (int64_t o = 0; o < out; ++o) scales[axis][o] = scale(o);
    }
    return scales;
}

}  // namespace torch_aclnn::kernels
