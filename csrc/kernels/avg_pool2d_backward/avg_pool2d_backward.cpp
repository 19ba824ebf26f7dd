#include "kernels/avg_pool2d_backward/avg_pool2d_backward.h"

#include "kernels/average_pool/average_pool.h"
#include "kernels/average_pool/small.h"

namespace torch_aclnn::kernels {

void avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, const AvgPool2dParams& params, int thread_count) {
    if (grad_input.empty()) return;  // whose rows and columns may be any number
    const bool has_override = params.divisor_override != 0;
    const auto axis = [&](int d) {
        return PoolingAxis{grad_input.size[2 + d],
                           grad_output.size[2 + d],
                           params.kernel_size[d],
                           params.stride[d],
                           params.padding[d],
                           params.count_include_pad,
                           has_override && d == 1 ? 1 : params.divisor_override};
    };
    const PoolingAxis rows = axis(0), columns = axis(1);
    if (suits_small(grad_output, grad_input, rows, columns)) return average_pool_backward_small(grad_output, grad_input, rows, columns);
    average_pool_backward(grad_output, grad_input, pooling_axis(rows), pooling_axis(columns),
                          {columns.step, columns.kernel, columns.padding}, thread_count);
}

}  // namespace torch_aclnn::kernels
