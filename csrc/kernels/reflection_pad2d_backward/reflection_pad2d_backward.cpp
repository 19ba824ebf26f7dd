#include "kernels/reflection_pad2d_backward/reflection_pad2d_backward.h"

#include "kernels/padding/padding.h"

namespace torch_aclnn::kernels {
namespace {

// Input index i is copied to output index before + i, and is reflected at the first and the last input index, which are copied once.
void reflect(SourceAxis& axis, int64_t before) {
    const int64_t in = axis.in();
    for (int64_t i = 0; i < in; ++i) {
        if (i > 0) axis.add(before - i);
        axis.add(before + i);
        if (i < in - 1) axis.add(before + 2 * (in - 1) - i);
        axis.next();
    }
}

}  // namespace

void reflection_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top, int thread_count) {
    if (grad_input.empty()) return;
    SourceAxis rows(grad_input.size[2], grad_output.size[2]), columns(grad_input.size[3], grad_output.size[3]);
    reflect(rows, top);
    reflect(columns, left);
    padding_backward(grad_output, grad_input, rows, columns, thread_count);
}

}  // namespace torch_aclnn::kernels
