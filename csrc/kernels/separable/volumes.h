// Average pooling backward of volumes.
#pragma once

#include "kernels/average_pool/average_pool.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,d,h,w] = sum over the windows that hold (d, h, w) of grad_output / (depth.divisor * rows.divisor * columns.divisor).
// `regular` is of the columns.
void volumes_backward(const View<5>& grad_output, const View<5>& grad_input, WindowAxis depth, WindowAxis rows, WindowAxis columns,
                      RegularWindows regular, int thread_count);

}  // namespace torch_aclnn::kernels
