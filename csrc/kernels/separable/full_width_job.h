// What the loop of full-width windows takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,0,h,w] = the sum of grad_output[n,c,0,o,0] * rows.scale[o] over the windows o that hold row h, times column_scale.
struct FullWidthJob {
    static constexpr int64_t kMaxTerms = 2;  // as many as windows of adaptive pooling share a row
    View<5> grad_output, grad_input;         // a plane of grad_input has no gaps
    AxisTable rows;
    int64_t terms;             // 1: each row lies in one window; 2: in two at most
    const void* column_scale;  // one number, in the type of the sums
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h.
using FullWidthLoop = void(const FullWidthJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LANES(FullWidthLoop, full_width_windows)

}  // namespace torch_aclnn::kernels
