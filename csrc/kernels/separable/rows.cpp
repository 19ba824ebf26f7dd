// Padding backward, row by row: copies with sums at either end.

#include "kernels/separable/gather_columns.h"
#include "kernels/separable/jobs.h"
#include "kernels/separable/strategies.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

// The job of a call, and the tables that it points to.
class RowsPlan {
   public:
    explicit RowsPlan(const Problem& problem) : row_offsets_(problem.rows().out()) {
        job_.grad_output = problem.source;
        job_.grad_input = problem.target;
        job_.rows = problem.rows().table();
        job_.columns = problem.columns().table();
        job_.inner = problem.inner;
        if (has_adjacent_channels(problem)) {  // adjacent channels become one cell
            job_.inner *= problem.target.size[1];
            job_.grad_input.size[1] = job_.grad_output.size[1] = 1;
        }
        find_copy();
        find_row_offsets();
        plan_sums_of_columns(problem.columns());
        choose_way(problem.source.bytes() * problem.inner);
        const int64_t size = element_size(job_.grad_input.dtype);
        job_.sum_bytes = round_to_lines(row_size() * static_cast<int64_t>(sizeof(double)) + kSlack);
        job_.row_bytes = round_to_lines(row_size() * size + kSlack);
        job_.sink_bytes = sink_bytes(std::max(job_.inner, RowsJob::kBlock) * size);
    }
    // The job points into the plan.
    RowsPlan(const RowsPlan&) = delete;
    RowsPlan& operator=(const RowsPlan&) = delete;

    void run(int thread_count) const {
        constexpr int64_t kCostOfRow = 64;  // the cost of a row's ends, which are sums
        // A table is made for the lanes of isa(), so rows with one keep these.
        const bool is_narrow = job_.inner < thresholds::kRowsFewNumbers && !job_.stream && job_.column_sums.blocks == 0;
        RowsLoop* const loop = TORCH_ACLNN_LANES(is_narrow ? isa_up_to(Isa::avx2) : isa(), padded_rows);
        parallel_for(row_count(), kCostOfRow + row_size(), thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(job_.sum_bytes + 2 * job_.row_bytes + job_.sink_bytes);
            loop(job_, begin, end, scratch.data());
        });
    }

   private:
    int64_t row_size() const { return std::max(job_.columns.in, job_.columns.out) * job_.inner; }
    int64_t row_count() const { return job_.grad_input.size[0] * job_.grad_input.size[1] * job_.rows.in; }

    // Finds the longest run of columns that are copied.
    void find_copy() {
        const AxisTable& columns = job_.columns;
        const auto is_copy = [&](int64_t w) { return columns.terms(w) == 1; };
        const auto output = [&](int64_t w) { return columns.source[columns.first[w]]; };
        for (int64_t begin = 0, end; begin < columns.in; begin = end) {
            end = begin + 1;
            if (!is_copy(begin)) continue;
            while (end < columns.in && is_copy(end) && output(end) == output(begin) + end - begin) ++end;
            if (end - begin > job_.copy_end - job_.copy_begin) job_.copy_begin = begin, job_.copy_end = end;
        }
    }

    void find_row_offsets() {
        const View<5>& out = job_.grad_output;
        for (int64_t term = 0, count = job_.rows.last[job_.rows.in - 1]; term < count; ++term) {
            const int64_t row = job_.rows.source[term];
            row_offsets_.data()[term] =
                out.size[2] == 1 ? row * out.stride[3] : row / out.size[3] * out.stride[2] + row % out.size[3] * out.stride[3];
        }
        job_.row_offsets = row_offsets_.data();
    }

    // Makes a table for short rows, if so many of their numbers are added up at the ends that it takes less time, and if there are enough
    // rows to pay for it.
    void plan_sums_of_columns(const Axis& columns) {
        using namespace thresholds;
        const int64_t lanes = gather_lanes(), readable = columns.out() * job_.inner;
        if (row_count() < kTableRows || columns.sum_count() < kManySums || !has_float_sums(job_.grad_input.dtype)) return;
        if (columns.in() * job_.inner > kTablePaddedVectors * lanes || readable < lanes || job_.inner > kTablePaddedInner) return;
        column_sums_ = row_plan(job_.columns, job_.inner, readable);
        job_.column_sums = column_sums_.table();
        job_.widens = job_.grad_input.dtype != DType::float32 && column_sums_.has_far_terms();
    }

    // Beside a large grad_output little of a smaller result would stay in the caches, so it is written around them. Cells of several
    // numbers are written so as they are computed, which pays for smaller results already. Single numbers are collected in a sink, and
    // nothing is computed while a sink writes: that does not pay for half types, which take longer to compute than to write.
    void choose_way(int64_t source_bytes) {
        const View<5>& in = job_.grad_input;
        const int64_t bytes = row_count() * job_.columns.in * job_.inner * element_size(in.dtype);
        const bool is_wide = job_.inner > 1, is_read_from_memory = exceeds_share_of_cache(source_bytes);
        const bool leaves_caches = is_large(bytes) || (is_large(source_bytes) && exceeds_share_of_cache(bytes));
        const bool pays = is_wide ? leaves_caches || is_read_from_memory : leaves_caches && !is_half_type(in.dtype);
        job_.stream = pays && in.is_aligned();
        job_.prefetch = is_wide && is_read_from_memory;
    }

    Numbers row_offsets_;
    GatherPlan column_sums_;
    RowsJob job_{};
};

}  // namespace

bool can_rows(const Problem& problem) {
    return !problem.pools();
}

void run_rows(const Problem& problem, int thread_count) {
    RowsPlan(problem).run(thread_count);
}

}  // namespace torch_aclnn::kernels
