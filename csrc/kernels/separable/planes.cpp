// Average pooling backward, row by row, in lanes of columns.

#include "kernels/separable/gather_columns.h"
#include "kernels/separable/jobs.h"
#include "kernels/separable/strategies.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

// Few channels do not fill vectors. Windows that slide over more are sums of what lies so many channels apart, at any place of a row; of
// others a table goes over the cells of a row, unless most of these are copies.
bool joins_channels(const Problem& problem) {
    using namespace thresholds;
    if (!has_adjacent_cells(problem)) return false;
    const Axis& columns = problem.columns();
    const int64_t channels = problem.target.size[1];
    if (!problem.rows().overlap() && !columns.overlap()) return channels <= kPlanesMaxChannelsOfCopies;
    if (channels <= kPlanesFewChannels) return true;
    const AxisSpec& spec = problem.spec(2);
    const bool has_floats = has_float_sums(problem.dtype());
    const int64_t window_bytes = (spec.kernel - 1) * channels * static_cast<int64_t>(has_floats ? sizeof(float) : sizeof(double));
    if (spec.slides() && has_loop_of_steps(spec)) return channels <= kPlanesMaxSlidingChannels && window_bytes <= kSlack;
    const int64_t max_copies = is_half_type(problem.dtype()) ? kPlanesMaxCopiesOfHalfTypes : kPlanesMaxCopies;
    const bool has_table = has_floats && channels <= std::min(gather_lanes() - 1, PlanesJob::kMaxInner);
    return has_table && columns.in() <= max_copies * columns.run_count();
}

// The job of a call, and the tables that it points to.
template <class S>
class PlanesPlan {
   public:
    explicit PlanesPlan(const Problem& problem) : scales_(problem.scales<S>()) {
        job_.inner = joins_channels(problem) ? problem.target.size[1] : 1;
        job_.grad_output = joined(problem.source);
        job_.grad_input = joined(problem.target);
        if (job_.inner > 1) scales_[2] = repeat_each(scales_[2], job_.inner);
        job_.rows = problem.rows().table(scales_[1].empty() ? nullptr : scales_[1].data());
        job_.columns = problem.columns().table(scales_[2].data());
        job_.columns.in *= job_.inner;
        job_.columns.out *= job_.inner;
        plan_steps(problem.spec(2));
        if (job_.step == 0) column_sums_ = plan_columns<S>(problem.columns(), job_.inner, row_count());
        job_.column_sums = column_sums_.table();
        // Half types take longer to compute than to write, and nothing is computed while a sink writes around the caches.
        job_.stream = !is_half_type(problem.dtype()) && is_large(job_.grad_input);
        divide_scratch();
    }
    // The job points into the plan.
    PlanesPlan(const PlanesPlan&) = delete;
    PlanesPlan& operator=(const PlanesPlan&) = delete;

    void run(int thread_count) const {
        constexpr int64_t kCostOfRow = 32;  // the cost of a row, in addition to that of its elements
        PlanesLoop* const loop = TORCH_ACLNN_LANES(isa(), average_planes);
        parallel_for(row_count(), kCostOfRow + kCostOfSum * job_.columns.in, thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(job_.sum_bytes + job_.row_bytes + job_.sink_bytes);
            loop(job_, begin, end, scratch.data());
        });
    }

   private:
    // Returns the view as one channel, with all of its numbers in the rows.
    View<5> joined(View<5> view) const {
        if (job_.inner == 1) return view;
        view.size[1] = view.stride[4] = 1;
        view.size[4] *= job_.inner;
        return view;
    }

    // There is no loop for steps between cells, or for windows that begin before the zeros in front of the sums.
    void plan_steps(const AxisSpec& spec) {
        job_.kernel = spec.kernel;
        job_.padding = spec.before * job_.inner;
        const bool fits = job_.inner == 1 || (spec.step == 1 && (spec.kernel - 1) * job_.inner * static_cast<int64_t>(sizeof(S)) <= kSlack);
        job_.step = has_loop_of_steps(spec) && fits ? spec.step : 0;
    }

    void divide_scratch() {
        constexpr int64_t kPieceBytes = 4096, kLineBytes = 8192, kSize = sizeof(S);
        const int64_t line = std::max(job_.columns.in, job_.columns.out) + job_.padding + 2 + 2 * kSlack / kSize;
        job_.line_size = round_to_lines(line * kSize) / kSize;
        job_.lines = std::clamp<int64_t>(kLineBytes / (job_.line_size * kSize), 1, PlanesJob::kMaxLines);
        job_.sum_bytes = round_to_lines(job_.lines * job_.line_size * kSize);
        job_.row_bytes = round_to_lines(job_.columns.in * element_size(job_.grad_input.dtype) + kSlack);
        job_.rows_per_piece = std::max<int64_t>(1, kPieceBytes / job_.row_bytes);
        job_.sink_bytes = sink_bytes(std::max(job_.row_bytes, kPieceBytes));
    }

    int64_t row_count() const { return job_.grad_input.size[0] * job_.grad_input.size[1] * job_.rows.in; }

    std::array<std::vector<S>, 3> scales_;
    GatherPlan column_sums_;
    PlanesJob job_{};
};

}  // namespace

bool can_planes(const Problem& problem) {
    return problem.pools() && !problem.has_volumes();
}

void run_planes(const Problem& problem, int thread_count) {
    if (problem.dtype() == DType::float64)
        PlanesPlan<double>(problem).run(thread_count);
    else
        PlanesPlan<float>(problem).run(thread_count);
}

bool pays_channels(const Problem& problem) {
    return problem.target.size[1] >= thresholds::kMinChannels && !joins_channels(problem);
}

}  // namespace torch_aclnn::kernels
