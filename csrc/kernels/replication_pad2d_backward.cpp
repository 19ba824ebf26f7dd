#include "kernels/replication_pad2d_backward.h"

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/scratch.h"
#include "kernels/windows.h"

namespace torch_aclnn::kernels {
namespace {

// Output index o reads input index clamp(o - before, 0, in - 1): the two border indices take everything beyond them.
WindowAxis replication_axis(int64_t in, int64_t out, int64_t before) {
    WindowAxis axis(in, out);
    for (int64_t i = 0; i < in; ++i) {
        axis.first[i] = i == 0 ? 0 : std::clamp<int64_t>(i + before, 0, out);
        axis.last[i] = i == in - 1 ? out : std::clamp<int64_t>(i + before + 1, 0, out);
    }
    return axis;
}

bool is_complex(DType dtype) {
    return dtype == DType::complex64 || dtype == DType::complex128;
}

// A complex tensor as pairs of real numbers.
View<4> as_real(View<4> view) {
    if (!is_complex(view.dtype)) return view;
    view.dtype = view.dtype == DType::complex64 ? DType::float32 : DType::float64;
    for (int64_t& stride : view.stride) stride *= 2;
    return view;
}

// Adjacent channels become one wide cell.
void merge_channels(ReplicationPadJob& job) {
    View<4>&out = job.grad_output, &in = job.grad_input;
    if (out.stride[1] != job.inner || !channels_innermost(in, job.inner)) return;
    job.inner *= in.size[1];
    in.size[1] = out.size[1] = 1;
}

}  // namespace

void replication_pad2d_backward(const View<4>& grad_output, const View<4>& grad_input, int64_t left, int64_t top, int thread_count) {
    if (grad_input.empty()) return;
    ReplicationPadJob job{};
    job.grad_output = as_real(grad_output);
    job.grad_input = as_real(grad_input);
    job.inner = is_complex(grad_input.dtype) ? 2 : 1;
    job.stream = is_large(grad_input);
    merge_channels(job);
    WindowAxis rows = replication_axis(grad_input.size[2], grad_output.size[2], top);
    WindowAxis columns = replication_axis(grad_input.size[3], grad_output.size[3], left);
    job.rows = rows.table(grad_output.size[2], nullptr);
    job.columns = columns.table(grad_output.size[3], nullptr);

    const int64_t row_size = std::max(job.columns.in, job.columns.out) * job.inner;
    job.sum_bytes = round_to_lines(row_size * static_cast<int64_t>(sizeof(double)) + kSlack);
    job.row_bytes = round_to_lines(row_size * element_size(job.grad_input.dtype) + kSlack);
    job.sink_bytes = sink_bytes(std::max(job.inner, ReplicationPadJob::kBlock) * element_size(job.grad_input.dtype));
    const int64_t bytes = job.sum_bytes + 2 * job.row_bytes + job.sink_bytes;
    parallel_for(job.grad_input.size[0] * job.grad_input.size[1] * job.rows.in, row_size, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loops().replication_pad(job, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
