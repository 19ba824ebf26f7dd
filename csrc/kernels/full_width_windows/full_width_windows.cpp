#include "kernels/full_width_windows/full_width_windows.h"

#include "kernels/full_width_windows/job.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {
namespace {

template <class S>
void run(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns, int thread_count) {
    const auto scales = window_scales<S, 2>({&rows, &columns});
    const int64_t window = columns.first()[0];
    FullWidthJob job{};
    job.grad_output = grad_output;
    job.grad_output.data = static_cast<char*>(grad_output.data) + window * grad_output.stride[3] * element_size(grad_output.dtype);
    job.grad_input = grad_input;
    job.rows = rows.table(grad_output.size[2], scales[0].empty() ? nullptr : scales[0].data());
    job.terms = rows.has_one_window_each() ? 1 : FullWidthJob::kMaxTerms;
    job.column_scale = &scales[1][window];
    FullWidthLoop* const loop = TORCH_ACLNN_LOOP(full_width_windows);
    const int64_t row_count = grad_input.size[0] * grad_input.size[1] * grad_input.size[2];
    parallel_for(row_count, grad_input.size[3], thread_count, [&](int64_t begin, int64_t end) { loop(job, begin, end); });
}

}  // namespace

bool suits_full_width(const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns) {
    constexpr int64_t kMinRun = 8, kMaxTerms = FullWidthJob::kMaxTerms;
    const int64_t width = grad_input.size[3];
    if (grad_input.stride[3] != 1 || (grad_input.size[2] != 1 && grad_input.stride[2] != width)) return false;
    if (columns.run_end()[0] != width || !columns.has_one_window_each() || rows.max_windows() > kMaxTerms) return false;
    return rows.in() * width >= kMinRun * rows.run_count() && (rows.has_one_window_each() || !is_large(grad_input));
}

void full_width_backward(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns,
                         int thread_count) {
    if (grad_input.dtype == DType::float64)
        run<double>(grad_output, grad_input, rows, columns, thread_count);
    else
        run<float>(grad_output, grad_input, rows, columns, thread_count);
}

}  // namespace torch_aclnn::kernels
