// One axis of a gradient: which indices of grad_output each index of grad_input is the sum of.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/support/axis_table.h"

namespace torch_aclnn::kernels {

// How the forward made the output indices of an axis of the input indices.
struct AxisSpec {
    enum class Kind { windows, adaptive, replication, reflection, circular };
    Kind kind;
    int64_t in, out;
    // Window o covers [o * step - before, o * step - before + kernel) of the input. step 0: windows that do not follow each other by a
    // step.
    int64_t kernel, step;
    int64_t before;  // the padding in front of the input
    bool count_include_pad;
    int64_t divisor_override;  // the divisor of each window; 0: its size

    int64_t begin(int64_t o) const { return std::clamp<int64_t>(o * step - before, 0, in); }
    int64_t end(int64_t o) const { return std::clamp<int64_t>(o * step - before + kernel, 0, in); }
    int64_t divisor(int64_t o) const {
        if (divisor_override != 0) return divisor_override;
        const int64_t start = o * step - before;
        return count_include_pad ? std::min(start + kernel, in + before) - start : end(o) - begin(o);
    }
    bool has_windows() const { return kind == Kind::windows || kind == Kind::adaptive; }
    bool overlaps() const { return kernel > step; }
    bool slides() const { return step == 1 && kernel > 1; }
    bool is_trivial() const { return in == 1 && out == 1 && before == 0; }
};

// The windows of adaptive pooling: window o covers [floor(o * in / out), ceil((o + 1) * in / out)). Where the sizes divide, they are alike.
AxisSpec adaptive_spec(int64_t in, int64_t out);

// Numbers that are not initialised. Few of them need no allocation, which takes as long as some rows of a small tensor.
class Numbers {
   public:
    explicit Numbers(int64_t count) : allocated_(count > kFew ? new int64_t[count] : nullptr) {}
    int64_t* data() { return allocated_ ? allocated_.get() : few_; }
    const int64_t* data() const { return allocated_ ? allocated_.get() : few_; }

   private:
    static constexpr int64_t kFew = 256;
    std::unique_ptr<int64_t[]> allocated_;
    int64_t few_[kFew];
};

// Owns the lists of an axis, which are one piece of memory.
class Axis {
   public:
    explicit Axis(const AxisSpec& spec);

    int64_t in() const { return in_; }
    int64_t out() const { return out_; }
    int64_t* first() { return numbers_.data(); }
    int64_t* last() { return numbers_.data() + in_; }
    int64_t* divisor() { return numbers_.data() + 2 * in_; }  // the divisor of each window
    const int64_t* first() const { return numbers_.data(); }
    const int64_t* last() const { return numbers_.data() + in_; }
    const int64_t* divisor() const { return numbers_.data() + 2 * in_; }
    const int64_t* run_end() const { return numbers_.data() + 2 * in_ + out_; }  // the end of each run of windows
    AxisTable table(const void* scale = nullptr) const {
        return {in_, out_, first(), last(), has_sources_ ? divisor() : nullptr, run_end(), scale};
    }

    bool has_one_divisor() const;
    int64_t most_terms() const;  // the largest number of terms of an index
    int64_t sum_count() const;   // how many indices are sums of several terms
    bool overlap() const { return most_terms() > 1; }
    bool has_one_term_each() const;
    int64_t run_count() const;

    // Returns this axis and one inside of it as a single one, which paddings use for the rows of volumes.
    Axis combine(const Axis& inner) const;

   private:
    Axis(int64_t in, int64_t out, bool has_sources);
    void fill_windows(const AxisSpec& spec);
    void fill_adaptive_windows();
    void fill_sources(const AxisSpec& spec);
    void find_runs();

    int64_t in_, out_;
    bool has_sources_;  // it has sources instead of divisors, and no runs
    Numbers numbers_;
};

template <class S>
std::vector<S> repeat_each(const std::vector<S>& values, int64_t times) {
    std::vector<S> result;
    result.reserve(values.size() * times);
    for (const S value : values) result.insert(result.end(), times, value);
    return result;
}

// The reciprocals of the divisors, an axis each: one division per window of an axis instead of one per cell. Where all windows of an axis
// agree, theirs goes into the last axis's, to be rounded once, and the axis's own are left out.
template <class S>
std::array<std::vector<S>, 3> window_scales(const std::array<const Axis*, 3>& axes) {
    std::array<std::vector<S>, 3> scales;
    double common = 1;
    for (int d = 0; d < 3; ++d) {
        const int64_t out = axes[d]->out();
        const int64_t* const divisor = axes[d]->divisor();
        const bool is_last = d == 2, uniform = axes[d]->has_one_divisor();
        if (uniform && !is_last) {
            if (out > 0) common *= static_cast<double>(divisor[0]);
            continue;
        }
        const auto scale = [&](int64_t o) { return static_cast<S>(1 / ((is_last ? common : 1) * static_cast<double>(divisor[o]))); };
        if (uniform && out > 0) {
            scales[d].assign(out, scale(0));
            continue;
        }
        scales[d].resize(out);
        for (int64_t o = 0; o < out; ++o) scales[d][o] = scale(o);
    }
    return scales;
}

}  // namespace torch_aclnn::kernels
