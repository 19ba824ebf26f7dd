#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include "kernels/average_pool/average_pool.h"
#include "kernels/average_pool/small.h"

namespace torch_aclnn::kernels {

void adaptive_avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, int thread_count) {
    if (grad_input.empty()) return;  // whose rows and columns may be any number
    // Where the sizes divide, the windows do not overlap and are all alike.
    const auto regular = [&](int d) {
        const int64_t in = grad_input.size[d], out = grad_output.size[d], step = out != 0 && in % out == 0 ? in / out : 0;
        return PoolingAxis{in, out, step, step, 0, true, 0};
    };
    const PoolingAxis rows = regular(2), columns = regular(3);
    if (suits_small(grad_output, grad_input, rows, columns)) return average_pool_backward_small(grad_output, grad_input, rows, columns);
    average_pool_backward(grad_output, grad_input, adaptive_axis(rows.in, rows.out), adaptive_axis(columns.in, columns.out),
                          {columns.step, columns.kernel, 0}, thread_count);
}

}  // namespace torch_aclnn::kernels
