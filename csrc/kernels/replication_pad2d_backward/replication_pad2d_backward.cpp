#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

#include <algorithm>

#include "kernels/padding/padding.h"

namespace torch_aclnn::kernels {
namespace {

// Output index o repeats input index clamp(o - before, 0, in - 1): the two border indices take everything beyond them.
void replicate(SourceAxis& axis, int64_t before) {
    const int64_t in = axis.in(), out = axis.out();
    for (int64_t i = 0; i < in; ++i) {
        const int64_t first = i == 0 ? 0 : i + before, last = i == in - 1 ? out - 1 : i + before;
        for (int64_t o = std::max<int64_t>(first, 0); o <= std::min(last, out - 1); ++o) axis.add(o);
        axis.next();
    }
}

}  // namespace

void replication_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top, int thread_count) {
    if (grad_input.empty()) return;
    SourceAxis rows(grad_input.size[2], grad_output.size[2]), columns(grad_input.size[3], grad_output.size[3]);
    replicate(rows, top);
    replicate(columns, left);
    padding_backward(grad_output, grad_input, rows, columns, thread_count);
}

}  // namespace torch_aclnn::kernels
