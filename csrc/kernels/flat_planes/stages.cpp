#include "kernels/flat_planes/stages.h"

#include <algorithm>

#include "kernels/simd/isa.h"

namespace torch_aclnn::kernels {

int64_t product(const FlatAxis* begin, const FlatAxis* end, int64_t FlatAxis::* size) {
    int64_t count = 1;
    for (const FlatAxis* axis = begin; axis < end; ++axis) count *= axis->*size;
    return count;
}

int64_t gather_lanes() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx512) return 16;
    if (isa() == Isa::avx2) return 8;
#endif
    return 0;
}

FlatStages::FlatStages(const FlatAxis* axes, int count, int64_t joined) : count_(count) {
    for (int stage = 0; stage < count; ++stage) plan(stage, axes, joined);
}

void FlatStages::plan(int stage, const FlatAxis* axes, int64_t joined) {
    const FlatAxis& axis = axes[stage];
    const bool is_last = stage + 1 == count_;
    const int64_t outer = joined * product(axes, axes + stage, &FlatAxis::result);
    const int64_t inner = product(axes + stage + 1, axes + count_, &FlatAxis::source_size);
    const int64_t lanes = gather_lanes();
    const int64_t source_count = outer * axis.source_size * inner + lanes;  // behind a line of sums, or a plane, a vector may be read
    std::vector<GatherRow> rows;
    rows.reserve(outer * axis.result);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.result; ++i) rows.push_back({axis.first[i], axis.last[i], o * axis.source_size * inner});
    tables_[stage] = GatherPlan(lanes, rows, inner, source_count, [&](int64_t term) { return axis.index(term); });
    if (axis.scale != nullptr && !is_last)
        tables_[stage].set_weights(rows, inner, [&](int64_t term) { return axis.scale[axis.index(term)]; });
    if (stage + 2 != count_ || axes[count_ - 1].scale == nullptr) return;
    scale_.resize(tables_[stage].padded_count());
    for (int64_t row = 0; row < outer * axis.result; ++row) std::copy_n(axes[count_ - 1].scale, inner, scale_.begin() + row * inner);
}

FlatStage FlatStages::stage(int index) const {
    return {tables_[index].table(), index + 2 == count_ && !scale_.empty() ? scale_.data() : nullptr};
}

int64_t FlatStages::line_size() const {
    int64_t line = 0;
    for (int stage = 0; stage + 1 < count_; ++stage) line = std::max(line, tables_[stage].padded_count());
    return line + gather_lanes();
}

}  // namespace torch_aclnn::kernels
