// Average pooling backward by windows that hold whole rows, each in two at most, such as the one of global pooling: runs of one value.
#pragma once

#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// Whether windows are such, planes are dense, and runs are long enough to be filled one by one. Large results whose windows share rows are
// not: other loops write around the caches. The axes have their runs.
bool suits_full_width(const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns);

void full_width_backward(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns,
                         int thread_count);

}  // namespace torch_aclnn::kernels
