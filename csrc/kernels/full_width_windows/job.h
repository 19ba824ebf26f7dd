// What the loop of full-width windows takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,h,w] = grad_output[n,c,o,0] * rows.scale[o] * column_scale, of the window o that holds row h.
struct FullWidthJob {
    View<4> grad_output, grad_input;  // a plane of grad_input has no gaps
    AxisTable rows;
    const void* column_scale;  // one number, in the type of the sums
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h.
using FullWidthLoop = void(const FullWidthJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LOOP(FullWidthLoop, full_width_windows)

}  // namespace torch_aclnn::kernels
