#include "kernels/adaptive_avg_pool3d_backward/adaptive_avg_pool3d_backward.h"

#include "kernels/adaptive_avg_pool3d_backward/job.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

template <class S>
void run(const View<5>& grad_output, const View<5>& grad_input, int thread_count) {
    WindowAxis depth = adaptive_axis(grad_input.size[2], grad_output.size[2]);
    WindowAxis rows = adaptive_axis(grad_input.size[3], grad_output.size[3]);
    WindowAxis columns = adaptive_axis(grad_input.size[4], grad_output.size[4]);
    for (WindowAxis* axis : {&depth, &rows, &columns}) axis->find_runs();
    const auto scales = window_scales<S, 3>({&depth, &rows, &columns});
    const auto table = [&](const WindowAxis& axis, int d) {
        return axis.table(grad_output.size[2 + d], scales[d].empty() ? nullptr : scales[d].data());
    };
    const int64_t width = grad_input.size[4], windows = grad_output.size[4];
    AdaptiveAvgPool3dJob job{grad_output, grad_input, table(depth, 0), table(rows, 1), table(columns, 2), 0, 0, 0, 0, is_large(grad_input)};
    job.plane_bytes = round_to_lines(grad_output.size[3] * windows * static_cast<int64_t>(sizeof(S)) + kSlack);
    job.sum_bytes = round_to_lines(windows * static_cast<int64_t>(sizeof(S)) + kSlack);
    job.row_bytes = round_to_lines(width * element_size(grad_input.dtype) + kSlack);
    job.sink_bytes = sink_bytes(job.row_bytes);
    const int64_t bytes = job.plane_bytes + job.sum_bytes + job.row_bytes + job.sink_bytes;
    AdaptiveAvgPool3dLoop* const loop = TORCH_ACLNN_LOOP(adaptive_avg_pool3d);
    const int64_t plane_count = grad_input.size[0] * grad_input.size[1] * grad_input.size[2];
    parallel_for(plane_count, grad_input.size[3] * width, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loop(job, begin, end, scratch.data());
    });
}

}  // namespace

void adaptive_avg_pool3d_backward(const View<5>& grad_output, const View<5>& grad_input, int thread_count) {
    if (grad_input.empty()) return;
    const auto run_in = grad_input.dtype == DType::float64 ? run<double> : run<float>;
    run_in(grad_output, grad_input, thread_count);
}

}  // namespace torch_aclnn::kernels
