// Sums within planes that are small and without gaps: along one axis after the other, by tables of shuffles. Paddings, of which most cells
// are copies, have faster loops.
#include <algorithm>

#include "kernels/separable/stages.h"
#include "kernels/separable/strategies.h"
#include "kernels/separable/thresholds.h"
#include "kernels/simd/isa.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

using namespace thresholds;

// This machine's; null where shuffles by a table are no single instruction.
FlatPlanesLoop* flat_planes_of_machine() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx512) return avx512::flat_planes;
    if (isa() == Isa::avx2) return avx2::flat_planes;
#endif
    return nullptr;
}

// How many of so many adjacent planes to make at once: they fill the vectors that end in a small plane, if there are enough of them for
// the longer tables. Those of a larger source lie too far apart.
int64_t planes_to_join(int64_t adjacent, int64_t cells, int64_t source_cells, int64_t plane_count) {
    if (plane_count * cells < kFlatEnoughJoined || source_cells > cells) return 1;
    int64_t joined = std::max<int64_t>(1, std::min(adjacent, kFlatJoinedCells / cells));
    while (adjacent % joined != 0) --joined;
    return joined;
}

// The job of a call, and the tables that it points to.
class FlatPlanes {
   public:
    FlatPlanes(const WholePlanes& planes, const PlaneAxes& axes) : plane_count_(planes.count()) {
        const View<5>&source = planes.source, &target = planes.target;
        const int64_t cells = planes.size(), source_cells = planes.size_of(source);
        joined_ = planes_to_join(std::min(planes.adjacent(source), planes.adjacent(target)), cells, source_cells, plane_count_);
        plan_stages(axes.begin(), axes.count(), planes.inner);
        job_.dtype = target.dtype;
        job_.source = source.data;
        job_.target = target.data;
        job_.stream = planes.streams();
        job_.widens = job_.dtype != DType::float32 && stages_.gathers_far();
        job_.plane_size = joined_ * cells;
        job_.source_size = joined_ * source_cells;
        place_planes(source, target);
        divide_scratch();
    }
    // The job points into the plan.
    FlatPlanes(const FlatPlanes&) = delete;
    FlatPlanes& operator=(const FlatPlanes&) = delete;

    void run(int thread_count) const {
        // A vector of terms takes about as long as copying its elements.
        parallel_for(plane_count_ / joined_, stages_.step_count() * gather_lanes(), thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(2 * job_.sum_bytes + job_.source_bytes + job_.sink_bytes);
            flat_planes_of_machine()(job_, begin, end, scratch.data());
        });
    }

   private:
    void plan_stages(const AxisTable* axes, int count, int64_t inner) {
        if (CombinedAxes::suits(axes, count)) {
            const CombinedAxes all(axes, count);
            const AxisTable axis = all.axis();
            stages_ = FlatStages(&axis, 1, joined_, inner);
        } else {
            stages_ = FlatStages(axes, count, joined_, inner);
        }
        job_.stage_count = stages_.count();
        for (int stage = 0; stage < job_.stage_count; ++stage) job_.stages[stage] = stages_.stage(stage);
    }

    void place_planes(const View<5>& source, const View<5>& target) {
        job_.source_stride[0] = source.stride[0];
        job_.target_stride[0] = target.stride[0];
        job_.channels = target.size[1];
        int64_t samples = target.size[0];
        if (joined_ > 1 && job_.channels % joined_ != 0) {  // the planes of all samples follow each other
            job_.channels *= samples;
            samples = 1;
        }
        job_.channels /= joined_;
        job_.source_stride[1] = joined_ > 1 ? job_.source_size : source.stride[1];
        job_.target_stride[1] = joined_ > 1 ? job_.plane_size : target.stride[1];
        job_.source_end = job_.source_size + (samples - 1) * job_.source_stride[0] + (job_.channels - 1) * job_.source_stride[1];
    }

    void divide_scratch() {
        constexpr int64_t kSums = 2048, kMaxPlanes = 16, size = sizeof(float);
        job_.line_size = round_to_lines(stages_.line_size() * size) / size;
        job_.planes_per_group = std::clamp<int64_t>(kSums / job_.line_size, 1, kMaxPlanes);
        job_.sum_bytes = job_.planes_per_group * job_.line_size * size;
        job_.source_bytes = round_to_lines((job_.source_size + gather_lanes()) * size);
        job_.sink_bytes = sink_bytes(job_.plane_size * element_size(job_.dtype));
    }

    int64_t plane_count_;  // of the tensors
    int64_t joined_ = 1;   // how many of them that are adjacent make a plane of the job
    FlatStages stages_;
    FlatPlanesJob job_{};
};

// Very small planes do not fill vectors; tables for whole volumes do. Of two vectors and more it is shorter to make a plane once, where
// others are copies of it.
bool flat_pays_for_volumes(const Problem& problem, const WholePlanes& planes) {
    const View<5>& in = planes.target;
    const bool repeats_planes = 2 * problem.depth().run_count() <= problem.depth().in();
    const int64_t cells_of_copies = kFlatVectorsOfCopies * gather_lanes();
    const int64_t max_cells = repeats_planes ? cells_of_copies : std::max(cells_of_copies, kFlatMaxCellsOfVolume);
    return in.size[3] * in.size[4] * planes.inner <= max_cells && planes.count() >= std::max(kFlatVolumes, planes.size());
}

// Short rows; longer ones unless there are loops that write rows well: for short steps, and copies of rows.
bool flat_pays_for_planes(const Problem& problem, const WholePlanes& planes) {
    const int64_t lanes = gather_lanes(), size = planes.size();
    if (planes.inner > 1) return planes.count() >= std::max(kFlatPlanesOfCells, size / kFlatNumbersPerPlaneOfCells);
    const AxisSpec& columns = problem.spec(2);
    const bool has_loop = has_loop_of_steps(columns), has_short_step = has_loop && columns.step <= 2;
    const bool repeats_rows = 2 * problem.rows().run_count() < problem.rows().in();
    const int64_t limit = has_loop && columns.slides()     ? std::min(lanes, kFlatShortRow)
                          : repeats_rows || has_short_step ? kFlatShortRow
                                                           : kFlatVectors * lanes;
    const int64_t planes_per_vector = has_loop && columns.overlaps() ? kFlatPlanesPerVectorOfShortSteps : 1;
    return planes.target.size[4] < limit && planes.count() >= std::max(kFlatPlanes, planes_per_vector * size / lanes);
}

}  // namespace

bool can_flat(const Problem& problem) {
    const WholePlanes planes(problem);
    return flat_planes_of_machine() != nullptr && planes.are_suitable() && planes.size() <= kFlatMaxPlane;
}

bool pays_flat(const Problem& problem) {
    const WholePlanes planes(problem);
    if (!problem.pools()) return false;
    return problem.has_volumes() ? flat_pays_for_volumes(problem, planes) : flat_pays_for_planes(problem, planes);
}

void run_flat(const Problem& problem, int thread_count) {
    const PlaneAxes axes(problem);
    FlatPlanes(WholePlanes(problem), axes).run(thread_count);
}

}  // namespace torch_aclnn::kernels
