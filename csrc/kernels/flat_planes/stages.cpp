#include "kernels/flat_planes/stages.h"

#include <algorithm>
#include <numeric>

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

bool CombinedAxes::suits(const FlatAxis* axes, int count) {
    return std::all_of(axes, axes + count, [](const FlatAxis& axis) { return axis.source == nullptr && axis.has_one_term_at_most(); }) &&
           std::all_of(axes, axes + count - 1, [](const FlatAxis& axis) { return axis.scale == nullptr; });
}

CombinedAxes::CombinedAxes(const FlatAxis* axes, int count)
    : source_size_(product(axes, axes + count, &FlatAxis::source_size)), first_(1, 0), last_(1, 1) {
    for (const FlatAxis* axis = axes; axis < axes + count; ++axis) {
        std::vector<int64_t> first, last;
        first.reserve(first_.size() * axis->result);
        last.reserve(first_.size() * axis->result);
        for (size_t outer = 0; outer < first_.size(); ++outer)
            for (int64_t i = 0; i < axis->result; ++i) {
                const int64_t term = first_[outer] * axis->source_size + axis->first[i];
                const bool has_term = first_[outer] < last_[outer] && axis->first[i] < axis->last[i];
                first.push_back(term);
                last.push_back(term + (has_term ? 1 : 0));
            }
        first_.swap(first);
        last_.swap(last);
    }
    const FlatAxis& columns = axes[count - 1];
    for (int64_t i = 0; columns.scale != nullptr && i < source_size_; ++i) scale_.push_back(columns.scale[i % columns.source_size]);
}

FlatAxis CombinedAxes::axis() const {
    return {static_cast<int64_t>(first_.size()),     source_size_, first_.data(), last_.data(), nullptr,
            scale_.empty() ? nullptr : scale_.data()};
}

FlatStages::FlatStages(const FlatAxis* axes, int count, int64_t joined, int64_t inner) : count_(count) {
    for (int stage = 0; stage < count; ++stage) plan(stage, axes, joined, inner);
    if (axes[count - 1].scale != nullptr) plan_scale(axes, joined, inner);
}

void FlatStages::plan(int stage, const FlatAxis* axes, int64_t joined, int64_t cell) {
    const FlatAxis& axis = axes[stage];
    const bool is_last = stage + 1 == count_;
    const int64_t outer = joined * product(axes, axes + stage, &FlatAxis::result);
    const int64_t inner = product(axes + stage + 1, axes + count_, &FlatAxis::source_size) * cell;
    const int64_t lanes = gather_lanes();
    const int64_t source_count = outer * axis.source_size * inner + lanes;  // behind a line of sums, or a plane, a vector may be read
    std::vector<GatherRow> rows;
    rows.reserve(outer * axis.result);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.result; ++i) rows.push_back({axis.first[i], axis.last[i], o * axis.source_size * inner});
    tables_[stage] = GatherPlan(lanes, rows, inner, source_count, [&](int64_t term) { return axis.index(term); });
    if (axis.scale != nullptr && !is_last)
        tables_[stage].set_weights(rows, inner, [&](int64_t term) { return axis.scale[axis.index(term)]; });
}

void FlatStages::plan_scale(const FlatAxis* axes, int64_t joined, int64_t inner) {
    const FlatAxis& axis = axes[count_ - 1];
    scale_.resize(tables_[scaled_stage()].padded_count());
    auto place = scale_.begin();
    if (count_ > 1) {
        const int64_t rows = joined * product(axes, axes + count_ - 1, &FlatAxis::result);
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = 0; i < axis.source_size; ++i) place = std::fill_n(place, inner, axis.scale[i]);
        return;
    }
    for (int64_t plane = 0; plane < joined; ++plane)
        for (int64_t i = 0; i < axis.result; ++i) {
            const bool has_term = axis.first[i] < axis.last[i];
            place = std::fill_n(place, inner, has_term ? axis.scale[axis.first[i]] : 0);
        }
}

FlatStage FlatStages::stage(int index) const {
    return {tables_[index].table(), index == scaled_stage() && !scale_.empty() ? scale_.data() : nullptr};
}

int64_t FlatStages::step_count() const {
    return std::accumulate(tables_, tables_ + count_, int64_t{0},
                           [](int64_t steps, const GatherPlan& table) { return steps + table.step_count(); });
}

int64_t FlatStages::line_size() const {
    int64_t line = 0;
    for (int stage = 0; stage + 1 < count_; ++stage) line = std::max(line, tables_[stage].padded_count());
    return line + gather_lanes();
}

}  // namespace torch_aclnn::kernels
