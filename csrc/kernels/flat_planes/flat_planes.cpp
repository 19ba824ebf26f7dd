#include "kernels/flat_planes/flat_planes.h"

#include <algorithm>

#include "kernels/simd/isa.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

struct Form {
    FlatPlanesLoop* loop;
    int64_t lanes;
};

// This machine's; null where shuffles by a table are no single instruction.
Form form() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx512) return {avx512::flat_planes, 16};
    if (isa() == Isa::avx2) return {avx2::flat_planes, 8};
#endif
    return {nullptr, 0};
}

int64_t product(const FlatAxis* begin, const FlatAxis* end, int64_t FlatAxis::* size) {
    int64_t count = 1;
    for (const FlatAxis* axis = begin; axis < end; ++axis) count *= axis->*size;
    return count;
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

int64_t gather_lanes() {
    return form().lanes;
}

bool suits_flat_planes(DType dtype, int64_t plane_count, int64_t plane_size, int64_t min_planes) {
    constexpr int64_t kMaxPlane = 2048;
    const bool has_float_sums = dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32;
    return form().loop != nullptr && has_float_sums && plane_count >= min_planes && plane_size <= kMaxPlane;
}

// The axes from the first to the last; what a stage leaves has the sizes of the result in the axes that are done, and of the source in
// the others.
void FlatPlanes::plan(const FlatAxis* axes, int count, int64_t adjacent) {
    const int64_t cells = product(axes, axes + count, &FlatAxis::result);
    const int64_t source_cells = product(axes, axes + count, &FlatAxis::source_size);
    joined_ = planes_to_join(adjacent, cells, source_cells, plane_count_);
    job_.stage_count = count;
    job_.plane_size = joined_ * cells;
    job_.source_size = joined_ * source_cells;
    for (int stage = 0; stage < count; ++stage) plan_stage(stage, axes, count);
    divide_scratch();
}

void FlatPlanes::plan_stage(int stage, const FlatAxis* axes, int count) {
    const FlatAxis& axis = axes[stage];
    const bool is_last = stage + 1 == count;
    const int64_t outer = joined_ * product(axes, axes + stage, &FlatAxis::result);
    const int64_t inner = product(axes + stage + 1, axes + count, &FlatAxis::source_size);
    const int64_t lanes = form().lanes;
    const int64_t source_count = outer * axis.source_size * inner + lanes;  // behind a line of sums, or a plane, a vector may be read
    std::vector<GatherRow> rows;
    rows.reserve(outer * axis.result);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.result; ++i) rows.push_back({axis.first[i], axis.last[i], o * axis.source_size * inner});
    tables_[stage] = GatherPlan(lanes, rows, inner, source_count, [&](int64_t term) { return axis.index(term); });
    if (axis.scale != nullptr && !is_last)
        tables_[stage].set_weights(rows, inner, [&](int64_t term) { return axis.scale[axis.index(term)]; });
    job_.stages[stage].table = tables_[stage].table();
    if (stage + 2 != count || axes[count - 1].scale == nullptr) return;
    scale_.resize(tables_[stage].padded_count());
    for (int64_t row = 0; row < outer * axis.result; ++row) std::copy_n(axes[count - 1].scale, inner, scale_.begin() + row * inner);
    job_.stages[stage].scale = scale_.data();
}

void FlatPlanes::divide_scratch() {
    constexpr int64_t kSums = 2048, kMaxPlanes = 16, size = sizeof(float);
    int64_t line = 0;
    for (int stage = 0; stage + 1 < job_.stage_count; ++stage) line = std::max(line, tables_[stage].padded_count());
    job_.line_size = round_to_lines((line + form().lanes) * size) / size;
    job_.planes_per_group = std::clamp<int64_t>(kSums / job_.line_size, 1, kMaxPlanes);
    job_.sum_bytes = job_.planes_per_group * job_.line_size * size;
    job_.source_bytes = round_to_lines((job_.source_size + form().lanes) * element_size(job_.dtype));
    job_.sink_bytes = sink_bytes(job_.plane_size * element_size(job_.dtype));
}

void FlatPlanes::run(int thread_count) const {
    parallel_for(plane_count_ / joined_, kCostOfSum * job_.plane_size, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(2 * job_.sum_bytes + job_.source_bytes + job_.sink_bytes);
        form().loop(job_, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
