#include "kernels/separable/operators.h"

#include <algorithm>

#include "kernels/average_pool/average_pool.h"
#include "kernels/average_pool/small.h"
#include "kernels/padding/padding.h"
#include "kernels/separable/volumes.h"

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

// Input index i is copied to output index before + i, and a period to either side of it.
void wrap(SourceAxis& axis, int64_t before) {
    const int64_t in = axis.in();
    for (int64_t i = 0; i < in; ++i) {
        for (int64_t period = -1; period <= 1; ++period) axis.add(before + i + period * in);
        axis.next();
    }
}

void fill(SourceAxis& axis, Padding padding, int64_t before) {
    const auto add = padding == Padding::replication ? replicate : padding == Padding::reflection ? reflect : wrap;
    add(axis, before);
}

// Depth and rows as one axis.
void combine(SourceAxis& axis, const SourceAxis& depth, const SourceAxis& rows) {
    for (int64_t d = 0; d < depth.in(); ++d)
        for (int64_t h = 0; h < rows.in(); ++h) {
            for (int64_t i = depth.begin()[d]; i < depth.begin()[d + 1]; ++i)
                for (int64_t k = rows.begin()[h]; k < rows.begin()[h + 1]; ++k) axis.add(depth.source()[i] * rows.out() + rows.source()[k]);
            axis.next();
        }
}

void average_pool(const View<5>& grad_output, const View<5>& grad_input, const PoolingAxis (&pooling)[3], WindowAxis depth, WindowAxis rows,
                  WindowAxis columns, int thread_count) {
    const RegularWindows regular{pooling[2].step, pooling[2].kernel, pooling[2].padding};
    if (depth.in() > 1 || !depth.is_identity())
        return volumes_backward(grad_output, grad_input, std::move(depth), std::move(rows), std::move(columns), regular, thread_count);
    average_pool_backward(without_depth(grad_output), without_depth(grad_input), std::move(rows), std::move(columns), regular, thread_count);
}

bool is_plane(const PoolingAxis& depth) {
    return depth.in == 1 && depth.out == 1 && depth.padding == 0;
}

}  // namespace

void avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, const AvgPoolParams& params, int thread_count) {
    if (grad_input.empty()) return;  // whose sizes may be any number
    const bool has_override = params.divisor_override != 0;
    const auto axis = [&](int d) {
        return PoolingAxis{grad_input.size[2 + d],
                           grad_output.size[2 + d],
                           params.kernel_size[d],
                           params.stride[d],
                           params.padding[d],
                           params.count_include_pad,
                           has_override && d != 1 ? 1 : params.divisor_override};
    };
    const PoolingAxis axes[] = {axis(0), axis(1), axis(2)};
    if (is_plane(axes[0]) && suits_small(without_depth(grad_output), without_depth(grad_input), axes[1], axes[2]))
        return average_pool_backward_small(without_depth(grad_output), without_depth(grad_input), axes[1], axes[2]);
    average_pool(grad_output, grad_input, axes, pooling_axis(axes[0]), pooling_axis(axes[1]), pooling_axis(axes[2]), thread_count);
}

void adaptive_avg_pool_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count) {
    if (grad_input.empty()) return;
    // Where the sizes divide, the windows do not overlap and are all alike.
    const auto regular = [&](int d) {
        const int64_t in = grad_input.size[2 + d], out = grad_output.size[2 + d], step = out != 0 && in % out == 0 ? in / out : 0;
        return PoolingAxis{in, out, step, step, 0, true, 0};
    };
    const PoolingAxis axes[] = {regular(0), regular(1), regular(2)};
    if (is_plane(axes[0]) && suits_small(without_depth(grad_output), without_depth(grad_input), axes[1], axes[2]))
        return average_pool_backward_small(without_depth(grad_output), without_depth(grad_input), axes[1], axes[2]);
    const auto axis = [&](int d) { return adaptive_axis(axes[d].in, axes[d].out); };
    average_pool(grad_output, grad_input, axes, axis(0), axis(1), axis(2), thread_count);
}

void pad_backward(Padding padding, const View<5>& grad_output, const View<5>& grad_input, const int64_t (&before)[3], int thread_count) {
    if (grad_input.empty()) return;
    const View<5>&out = grad_output, &in = grad_input;
    SourceAxis rows(in.size[3], out.size[3]), columns(in.size[4], out.size[4]);
    fill(rows, padding, before[1]);
    fill(columns, padding, before[2]);
    if (in.size[2] == 1 && out.size[2] == 1) return padding_backward(grad_output, grad_input, rows, columns, thread_count);
    SourceAxis depth(in.size[2], out.size[2]), rows_of_volumes(in.size[2] * in.size[3], out.size[2] * out.size[3]);
    fill(depth, padding, before[0]);
    combine(rows_of_volumes, depth, rows);
    padding_backward(grad_output, grad_input, rows_of_volumes, columns, thread_count);
}

}  // namespace torch_aclnn::kernels
