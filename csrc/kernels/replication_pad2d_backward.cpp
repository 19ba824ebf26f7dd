#include "kernels/replication_pad2d_backward.h"

#include <algorithm>

#include "kernels/window_sum.h"

namespace torch_aclnn::kernels {
namespace {

// Output index o reads input index clamp(o - before, 0, in - 1): the two border indices take everything beyond them.
WindowAxis replication_axis(int64_t in, int64_t out, int64_t before) {
    WindowAxis axis;
    for (int64_t i = 0; i < in; ++i) {
        axis.first.push_back(i == 0 ? 0 : std::clamp<int64_t>(i + before, 0, out));
        axis.last.push_back(i == in - 1 ? out : std::clamp<int64_t>(i + before + 1, 0, out));
    }
    axis.divisor.assign(out, 1);
    return axis;
}

}  // namespace

void replication_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top, int thread_count) {
    const WindowAxis rows = replication_axis(grad_input.size[2], grad_output.size[2], top);
    const WindowAxis columns = replication_axis(grad_input.size[3], grad_output.size[3], left);
    visit_floating_or_complex(grad_input.dtype, [&](auto tag) {
        window_sum<typename decltype(tag)::type>(grad_output, grad_input, rows, columns, thread_count);
    });
}

}  // namespace torch_aclnn::kernels
