#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include <utility>

#include "kernels/average_pool/average_pool.h"

namespace torch_aclnn::kernels {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

// Window o covers [floor(o * in / out), ceil((o + 1) * in / out)); solved for o, the same form gives the windows of input index i.
WindowAxis adaptive_axis(int64_t in, int64_t out) {
    WindowAxis axis(in, out);
    for (int64_t i = 0; i < in; ++i) {
        axis.first[i] = i * out / in;
        axis.last[i] = ceil_div((i + 1) * out, in);
    }
    for (int64_t o = 0; o < out; ++o) axis.divisor[o] = ceil_div((o + 1) * in, out) - o * in / out;
    return axis;
}

}  // namespace

void adaptive_avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, int thread_count) {
    WindowAxis rows = adaptive_axis(grad_input.size[2], grad_output.size[2]);
    WindowAxis columns = adaptive_axis(grad_input.size[3], grad_output.size[3]);
    // Where the sizes divide, the windows do not overlap and are all alike.
    const int64_t in = grad_input.size[3], out = grad_output.size[3];
    const int64_t step = out != 0 && in % out == 0 ? in / out : 0;
    average_pool_backward(grad_output, grad_input, std::move(rows), std::move(columns), {step, step, 0}, thread_count);
}

}  // namespace torch_aclnn::kernels
