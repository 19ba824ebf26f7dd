// Average pooling backward by windows that hold whole rows: runs of one value.
#include "kernels/separable/jobs.h"
#include "kernels/separable/stages.h"
#include "kernels/separable/strategies.h"
#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {

template <class S>
static void run_full_width_in(const Problem& problem, int thread_count) {
    const View<5>&source = problem.source, &target = problem.target;
    const Axis& rows = problem.rows();
    const auto scales = problem.scales<S>();
    const int64_t window = problem.columns().first()[0];
    FullWidthJob job{};
    job.grad_output = source;
    job.grad_output.data = static_cast<char*>(source.data) + window * source.stride[4] * element_size(source.dtype);
    job.grad_input = target;
    job.rows = rows.table(scales[1].empty() ? nullptr : scales[1].data());
    job.terms = rows.has_one_term_each() ? 1 : FullWidthJob::kMaxTerms;
    job.column_scale = &scales[2][window];
    FullWidthLoop* const loop = TORCH_ACLNN_LANES(isa(), full_width_windows);
    const int64_t row_count = target.size[0] * target.size[1] * target.size[3];
    parallel_for(row_count, target.size[4], thread_count, [&](int64_t begin, int64_t end) { loop(job, begin, end); });
}

bool can_full_width(const Problem& problem) {
    if (!problem.pools() || problem.has_volumes() || !is_dense(problem.target, 1)) return false;
    const Axis& columns = problem.columns();
    return columns.run_end()[0] == columns.in() && columns.has_one_term_each() && problem.rows().most_terms() <= FullWidthJob::kMaxTerms;
}

// Short runs are left to tables of planes where the machine gathers fast, and large results whose windows share rows to the loops that
// write around the caches.
bool pays_full_width(const Problem& problem) {
    using namespace thresholds;
    const Axis& rows = problem.rows();
    const bool is_shared = !rows.has_one_term_each();
    if (is_shared && is_large(problem.target)) return false;
    const int64_t run = gather_lanes() == 0 ? kFullWidthRun : is_shared ? kFullWidthLongRunOfSharedRows : kFullWidthLongRun;
    return rows.in() * problem.target.size[4] >= run * rows.run_count();
}

void run_full_width(const Problem& problem, int thread_count) {
    const auto run = problem.dtype() == DType::float64 ? run_full_width_in<double> : run_full_width_in<float>;
    run(problem, thread_count);
}

}  // namespace torch_aclnn::kernels
