// Average pooling backward of small tensors by windows that share no cell: each window's cells are filled with one value, without the
// tables that other windows take, which would cost more than the result.
#pragma once

#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Whether the windows are regular and share no cell, and the tensor is small.
bool are_few_windows_apart(const View<4>& grad_input, const PoolingAxis& rows, const PoolingAxis& columns);

// grad_input[n,c,h,w] = grad_output / (rows.divisor * columns.divisor) of the window that holds (h, w), or 0.
void average_pool_backward_apart(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows,
                                 const PoolingAxis& columns);

}  // namespace torch_aclnn::kernels
