#include "kernels/flat_planes/flat_planes.h"

#include <algorithm>

#include "kernels/simd/isa.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

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
    constexpr int64_t kCells = 512, kEnough = 1 << 17;
    if (plane_count * cells < kEnough || source_cells > cells) return 1;
    int64_t joined = std::max<int64_t>(1, std::min(adjacent, kCells / cells));
    while (adjacent % joined != 0) --joined;
    return joined;
}

}  // namespace

bool suits_flat_planes(DType dtype, int64_t plane_count, int64_t plane_size, int64_t min_planes) {
    constexpr int64_t kMaxPlane = 2048;
    return flat_planes_of_machine() != nullptr && has_float_sums(dtype) && plane_count >= min_planes && plane_size <= kMaxPlane;
}

void FlatPlanes::plan(const FlatAxis* axes, int count, int64_t adjacent) {
    const int64_t cells = product(axes, axes + count, &FlatAxis::result) * inner_;
    const int64_t source_cells = product(axes, axes + count, &FlatAxis::source_size) * inner_;
    joined_ = planes_to_join(adjacent, cells, source_cells, plane_count_);
    if (CombinedAxes::suits(axes, count)) {
        const CombinedAxes all(axes, count);
        const FlatAxis axis = all.axis();
        stages_ = FlatStages(&axis, 1, joined_, inner_);
    } else {
        stages_ = FlatStages(axes, count, joined_, inner_);
    }
    job_.stage_count = stages_.count();
    for (int stage = 0; stage < job_.stage_count; ++stage) job_.stages[stage] = stages_.stage(stage);
    job_.widens = job_.dtype != DType::float32 && stages_.gathers_far();
    job_.plane_size = joined_ * cells;
    job_.source_size = joined_ * source_cells;
    divide_scratch();
}

void FlatPlanes::divide_scratch() {
    constexpr int64_t kSums = 2048, kMaxPlanes = 16, size = sizeof(float);
    job_.line_size = round_to_lines(stages_.line_size() * size) / size;
    job_.planes_per_group = std::clamp<int64_t>(kSums / job_.line_size, 1, kMaxPlanes);
    job_.sum_bytes = job_.planes_per_group * job_.line_size * size;
    job_.source_bytes = round_to_lines((job_.source_size + gather_lanes()) * size);
    job_.sink_bytes = sink_bytes(job_.plane_size * element_size(job_.dtype));
}

void FlatPlanes::run(int thread_count) const {
    // A vector of terms takes about as long as copying its elements.
    parallel_for(plane_count_ / joined_, stages_.step_count() * gather_lanes(), thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(2 * job_.sum_bytes + job_.source_bytes + job_.sink_bytes);
        flat_planes_of_machine()(job_, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
