// Average pooling backward of small tensors, without the tables of windows that larger ones take, which would cost more than the result.
#pragma once

#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Whether the windows are regular, and the tensor is small; how small depends on the windows.
bool suits_small(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows, const PoolingAxis& columns);

// The gradient of average_pool_backward(), with the same bits.
void average_pool_backward_small(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows,
                                 const PoolingAxis& columns);

}  // namespace torch_aclnn::kernels
