// Average pooling backward, row by row, in lanes of adjacent channels.

#include "kernels/separable/jobs.h"
#include "kernels/separable/strategies.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {

// A tile has as many columns as the first cache holds sums for, and at least all windows of one column.
static void divide_tiles(ChannelsJob& job, const Problem& problem, int64_t sum_size) {
    constexpr int64_t kSumBytes = 16384;
    const int64_t sums = kSumBytes / sum_size, terms = std::max<int64_t>(1, problem.columns().most_terms());
    job.apart = terms == 1 && !problem.rows().overlap();
    job.tile_channels = std::min(job.grad_input.size[1], std::max<int64_t>(64, sums / terms / 64 * 64));
    job.tile_columns = std::max(terms, sums / job.tile_channels);
    job.sum_bytes = round_to_lines(job.tile_columns * job.tile_channels * sum_size);
}

// Whether each cell is rounded once and copied around the caches to all places of its window, which pays where these are several.
static bool streams_cells(const ChannelsJob& job) {
    const View<5>& grad_input = job.grad_input;
    const int64_t cell_bytes = grad_input.size[1] * element_size(grad_input.dtype);
    return job.apart && cell_bytes >= thresholds::kChannelsMinCellBytes &&
           grad_input.bytes() >= thresholds::kChannelsMinCopies * job.grad_output.bytes() && grad_input.is_aligned() &&
           is_large(grad_input);
}

template <class S>
static void run_channels_in(const Problem& problem, int thread_count) {
    const auto scales = problem.scales<S>();
    ChannelsJob job{};
    job.grad_output = problem.source;
    job.grad_input = problem.target;
    job.rows = problem.rows().table(scales[1].empty() ? nullptr : scales[1].data());
    job.columns = problem.columns().table(scales[2].data());
    divide_tiles(job, problem, sizeof(S));
    job.stream = streams_cells(job);
    constexpr int64_t kCostOfRow = 32;  // the cost of a row, in addition to that of its elements
    ChannelsLoop* const loop = TORCH_ACLNN_LANES(isa(), average_channels);
    const int64_t cost = kCostOfRow + kCostOfSum * job.columns.in * job.grad_input.size[1];
    parallel_for(job.grad_input.size[0] * job.rows.in, cost, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(job.sum_bytes);
        loop(job, begin, end, scratch.data());
    });
}

bool can_channels(const Problem& problem) {
    return problem.pools() && !problem.has_volumes() && has_adjacent_channels(problem);
}

void run_channels(const Problem& problem, int thread_count) {
    const auto run = problem.dtype() == DType::float64 ? run_channels_in<double> : run_channels_in<float>;
    run(problem, thread_count);
}

}  // namespace torch_aclnn::kernels
