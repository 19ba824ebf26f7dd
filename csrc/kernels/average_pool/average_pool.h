// What the gradients of average pooling and of adaptive average pooling have in common.
#pragma once

#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Columns whose windows repeat: window o covers [o * step - padding, o * step - padding + kernel). step 0: they do not.
struct RegularWindows {
    int64_t step, kernel, padding;
};

// grad_input[n,c,h,w] = sum over the windows that hold (h, w) of grad_output / (rows.divisor * columns.divisor).
void average_pool_backward(const View<4>& grad_output, const View<4>& grad_input, WindowAxis rows, WindowAxis columns,
                           RegularWindows regular, int thread_count);

}  // namespace torch_aclnn::kernels
