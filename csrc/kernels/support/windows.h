// The windows of one axis, and which input indices they hold.
#pragma once

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
    AxisTable table(int64_t out, const void* scale) const;
};

}  // namespace torch_aclnn::kernels
