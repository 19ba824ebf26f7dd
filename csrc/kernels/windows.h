// The windows of one axis, and which input indices they hold.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/jobs.h"

namespace torch_aclnn::kernels {

// Input index i takes the output indices [first[i], last[i]); output index o was divided by divisor[o], by default 1.
struct WindowAxis {
    WindowAxis(int64_t in, int64_t out) : first(in), last(in), divisor(out, 1) {}

    std::vector<int64_t> first;
    std::vector<int64_t> last;
    std::vector<int64_t> divisor;
    std::vector<int64_t> run_end;  // filled in by find_runs

    void find_runs();
    AxisTable table(int64_t out, const void* scale) const;
};

}  // namespace torch_aclnn::kernels
