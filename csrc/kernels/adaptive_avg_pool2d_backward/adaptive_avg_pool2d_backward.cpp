#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include <utility>

#include "kernels/average_pool/average_pool.h"

namespace torch_aclnn::kernels {

void adaptive_avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, int thread_count) {
    if (grad_input.empty()) return;  // whose rows and columns may be any number
    WindowAxis rows = adaptive_axis(grad_input.size[2], grad_output.size[2]);
    WindowAxis columns = adaptive_axis(grad_input.size[3], grad_output.size[3]);
    // Where the sizes divide, the windows do not overlap and are all alike.
    const int64_t in = grad_input.size[3], out = grad_output.size[3];
    const int64_t step = out != 0 && in % out == 0 ? in / out : 0;
    average_pool_backward(grad_output, grad_input, std::move(rows), std::move(columns), {step, step, 0}, thread_count);
}

}  // namespace torch_aclnn::kernels
