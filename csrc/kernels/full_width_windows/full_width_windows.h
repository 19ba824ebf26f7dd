// Average pooling backward by windows that hold whole rows and share none, such as that of global pooling: runs of one value.
#pragma once

#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Whether windows are such, planes are dense, and the runs are long enough to be filled one by one. The axes have their runs.
bool suits_full_width(const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns);

void full_width_backward(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns,
                         int thread_count);

}  // namespace torch_aclnn::kernels
