#include "kernels/avg_pool2d_backward/avg_pool2d_backward.h"

#include <algorithm>
#include <utility>

#include "kernels/average_pool/average_pool.h"

namespace torch_aclnn::kernels {
namespace {

WindowAxis pooling_axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool count_include_pad) {
    WindowAxis axis(in, out);
    for (int64_t i = 0; i < in; ++i) {
        // The windows that hold i start in (i - kernel, i]: window o starts at o * stride - padding.
        const int64_t past_start = i + padding - kernel;
        axis.first[i] = past_start < 0 ? 0 : std::min(out, past_start / stride + 1);
        axis.last[i] = std::min(out, (i + padding) / stride + 1);
    }
    for (int64_t o = 0; o < out; ++o) {
        const int64_t start = o * stride - padding;
        const int64_t end = std::min(start + kernel, in + padding);
        axis.divisor[o] = count_include_pad ? end - start : std::min(end, in) - std::max<int64_t>(start, 0);
    }
    return axis;
}

}  // namespace

void avg_pool2d_backward(const View<4>& grad_output, const View<4>& grad_input, const AvgPool2dParams& params, int thread_count) {
    if (grad_input.empty()) return;  // whose rows and columns may be any number
    const auto axis = [&](int d) {
        return pooling_axis(grad_input.size[2 + d], grad_output.size[2 + d], params.kernel_size[d], params.stride[d], params.padding[d],
                            params.count_include_pad);
    };
    WindowAxis rows = axis(0), columns = axis(1);
    if (params.divisor_override != 0) {
        std::fill(rows.divisor.begin(), rows.divisor.end(), params.divisor_override);
        std::fill(columns.divisor.begin(), columns.divisor.end(), 1);
    }
    average_pool_backward(grad_output, grad_input, std::move(rows), std::move(columns),
                          {params.stride[1], params.kernel_size[1], params.padding[1]}, thread_count);
}

}  // namespace torch_aclnn::kernels
