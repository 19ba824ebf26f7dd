// Average pooling backward of volumes: sums over the depth, of which each plane is made, row by row or by tables.
#include <utility>

#include "kernels/separable/gather_columns.h"
#include "kernels/separable/jobs.h"
#include "kernels/separable/strategies.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

using namespace thresholds;

// Tables make the planes of short rows, and of longer ones that are not copies of each other.
bool makes_planes_by_tables(const Problem& problem) {
    const View<5>& in = problem.target;
    const Axis& rows = problem.rows();
    const int64_t cells = in.size[3] * in.size[4], planes = in.size[0] * in.size[1] * problem.depth().run_count();
    const bool repeats_rows = 2 * rows.run_count() < rows.in(), has_dense_rows = in.stride[4] == 1 && in.stride[3] == in.size[4];
    return gather_lanes() > 0 && has_float_sums(in.dtype) && has_dense_rows && cells <= kVolumesMaxPlane &&
           in.size[4] <= (repeats_rows ? kVolumesShortRow : kVolumesMaxRow) &&
           planes >= std::max(kVolumesMinPlanes, cells / kVolumesCellsPerPlane);
}

// Columns are cells of `inner` adjacent channels. Where `sums` has blocks, it lists their sums.
struct Cells {
    int64_t inner = 1;
    GatherPlan sums;
};

// Few channels do not fill the lanes, unless a table goes over the cells of a row, or the row is made once for several.
template <class S>
Cells plan_cells(const Problem& problem) {
    const View<5>& in = problem.target;
    const Axis &rows = problem.rows(), &columns = problem.columns();
    const int64_t channels = in.size[1], row_count = in.size[0] * in.size[2] * in.size[3];
    if (!has_adjacent_cells(problem)) return {1, plan_columns<S>(columns, 1, channels * row_count)};
    if (channels >= std::max(kVolumesMinChannels, gather_lanes())) return {channels, {}};
    GatherPlan sums = plan_columns<S>(columns, channels, row_count);
    const bool repeats_rows = kVolumesCopies * rows.run_count() <= rows.in();
    if (channels >= kVolumesMinChannels || sums.table().blocks > 0 || repeats_rows) return {channels, std::move(sums)};
    return {1, plan_columns<S>(columns, 1, channels * row_count)};
}

// Whether small planes without gaps are copies of others, which are read from a near cache sooner than computed again.
bool repeats_small_planes(const View<5>& target, const Axis& depth, int64_t inner) {
    const int64_t width = target.size[4] * inner;
    return depth.run_count() < depth.in() && target.stride[4] == inner && target.stride[3] == width &&
           target.size[3] * width * element_size(target.dtype) <= kVolumesKeptBytes;
}

// The job of a call, and the tables that it points to.
template <class S>
class VolumesPlan {
   public:
    explicit VolumesPlan(const Problem& problem) : scales_(problem.scales<S>()) {
        const bool has_tables = makes_planes_by_tables(problem);
        if (!has_tables) cells_ = plan_cells<S>(problem);
        job_.inner = cells_.inner;
        job_.grad_output = joined(problem.source);
        job_.grad_input = joined(problem.target);
        job_.column_sums = cells_.sums.table();
        for (int d = 0; d < 3; ++d) *axes_[d] = problem.axis(d).table(scales_[d].empty() ? nullptr : scales_[d].data());
        if (has_tables) plan_stages();
        if (job_.inner > 1 && job_.column_sums.blocks > 0) {
            scales_[2] = repeat_each(scales_[2], job_.inner);
            job_.columns.scale = scales_[2].data();
        }
        job_.keeps_plane = has_tables || repeats_small_planes(job_.grad_input, problem.depth(), job_.inner);
        job_.stream = is_large(job_.grad_input);
        divide_scratch(has_tables);
    }
    // The job points into the plan.
    VolumesPlan(const VolumesPlan&) = delete;
    VolumesPlan& operator=(const VolumesPlan&) = delete;

    void run(int thread_count) const {
        const View<5>& in = job_.grad_input;
        VolumesLoop* const loop = TORCH_ACLNN_LANES(isa(), volumes);
        const int64_t cost = kCostOfSum * in.size[3] * in.size[4] * job_.inner;
        parallel_for(in.size[0] * in.size[1] * in.size[2], cost, thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(job_.plane_bytes + job_.sum_bytes + job_.result_bytes + job_.sink_bytes);
            loop(job_, begin, end, scratch.data());
        });
    }

   private:
    // Returns the view as one channel if all channels are a cell. The stride of a single column could be any number.
    View<5> joined(View<5> view) const {
        if (job_.inner > 1) view.size[1] = 1, view.stride[4] = job_.inner;
        return view;
    }

    void plan_stages() {
        if constexpr (std::is_same_v<S, float>) {
            stages_ = PlaneStages(job_.rows, job_.columns);
            for (int stage = 0; stage < 2; ++stage) job_.plane_stages[stage] = stages_.stage(stage);
        }
    }

    void divide_scratch(bool has_tables) {
        constexpr int64_t kSize = sizeof(S);
        const int64_t width = job_.grad_input.size[4] * job_.inner, windows = job_.columns.out * job_.inner;
        job_.plane_bytes = round_to_lines(job_.rows.out * windows * kSize + kSlack);
        job_.sum_bytes = round_to_lines((has_tables ? stages_.line_size() : windows) * kSize + kSlack);
        const int64_t result = has_tables ? stages_.padded_result_size() : job_.keeps_plane ? job_.grad_input.size[3] * width : width;
        job_.result_bytes = round_to_lines(result * element_size(job_.grad_input.dtype) + kSlack);
        job_.sink_bytes = sink_bytes(job_.result_bytes);
    }

    std::array<std::vector<S>, 3> scales_;
    Cells cells_;
    PlaneStages stages_;
    VolumesJob job_{};
    AxisTable* const axes_[3] = {&job_.depth, &job_.rows, &job_.columns};
};

}  // namespace

bool can_volumes(const Problem& problem) {
    return problem.has_volumes();
}

void run_volumes(const Problem& problem, int thread_count) {
    if (problem.dtype() == DType::float64)
        VolumesPlan<double>(problem).run(thread_count);
    else
        VolumesPlan<float>(problem).run(thread_count);
}

}  // namespace torch_aclnn::kernels
