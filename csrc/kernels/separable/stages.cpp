#include "kernels/separable/stages.h"

#include <algorithm>
#include <numeric>

#include "kernels/simd/isa.h"

namespace torch_aclnn::kernels {

int64_t gather_lanes() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx512) return 16;
    if (isa() == Isa::avx2) return 8;
#endif
    return 0;
}

bool CombinedAxes::suits(const AxisTable* axes, int count) {
    const auto has_one_term_at_most = [](const AxisTable& axis) {
        return std::equal(axis.first, axis.first + axis.in, axis.last, [](int64_t begin, int64_t end) { return end - begin <= 1; });
    };
    return std::all_of(axes, axes + count, [&](const AxisTable& axis) { return axis.source == nullptr && has_one_term_at_most(axis); }) &&
           std::all_of(axes, axes + count - 1, [](const AxisTable& axis) { return axis.scale == nullptr; });
}

CombinedAxes::CombinedAxes(const AxisTable* axes, int count)
    : source_size_(product(axes, axes + count, &AxisTable::out)), first_(1, 0), last_(1, 1) {
    for (const AxisTable* axis = axes; axis < axes + count; ++axis) {
        std::vector<int64_t> first, last;
        first.reserve(first_.size() * axis->in);
        last.reserve(first_.size() * axis->in);
        for (size_t outer = 0; outer < first_.size(); ++outer)
            for (int64_t i = 0; i < axis->in; ++i) {
                const int64_t term = first_[outer] * axis->out + axis->first[i];
                const bool has_term = first_[outer] < last_[outer] && axis->first[i] < axis->last[i];
                first.push_back(term);
                last.push_back(term + (has_term ? 1 : 0));
            }
        first_.swap(first);
        last_.swap(last);
    }
    const AxisTable& columns = axes[count - 1];
    for (int64_t i = 0; columns.scale != nullptr && i < source_size_; ++i) scale_.push_back(*columns.scale_from<float>(i % columns.out));
}

AxisTable CombinedAxes::axis() const {
    return {static_cast<int64_t>(first_.size()),     source_size_, first_.data(), last_.data(), nullptr, nullptr,
            scale_.empty() ? nullptr : scale_.data()};
}

FlatStages::FlatStages(const AxisTable* axes, int count, int64_t joined, int64_t inner) : count_(count) {
    for (int stage = 0; stage < count; ++stage) plan(stage, axes, joined, inner);
    if (axes[count - 1].scale != nullptr) plan_scale(axes, joined, inner);
}

void FlatStages::plan(int stage, const AxisTable* axes, int64_t joined, int64_t cell) {
    const AxisTable& axis = axes[stage];
    const bool is_last = stage + 1 == count_;
    const int64_t outer = joined * product(axes, axes + stage, &AxisTable::in);
    const int64_t inner = product(axes + stage + 1, axes + count_, &AxisTable::out) * cell;
    const int64_t lanes = gather_lanes();
    const int64_t source_count = outer * axis.out * inner + lanes;  // behind a line of sums, or a plane, a vector may be read
    std::vector<GatherRow> rows;
    rows.reserve(outer * axis.in);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.in; ++i) rows.push_back({axis.first[i], axis.last[i], o * axis.out * inner});
    tables_[stage] = GatherPlan(lanes, rows, inner, source_count, [&](int64_t term) { return axis.index(term); });
    if (axis.scale != nullptr && !is_last)
        tables_[stage].set_weights(rows, inner, [&](int64_t term) { return *axis.scale_from<float>(axis.index(term)); });
}

void FlatStages::plan_scale(const AxisTable* axes, int64_t joined, int64_t inner) {
    const AxisTable& axis = axes[count_ - 1];
    scale_.resize(tables_[scaled_stage()].padded_count());
    auto place = scale_.begin();
    if (count_ > 1) {
        const int64_t rows = joined * product(axes, axes + count_ - 1, &AxisTable::in);
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = 0; i < axis.out; ++i) place = std::fill_n(place, inner, *axis.scale_from<float>(i));
        return;
    }
    for (int64_t plane = 0; plane < joined; ++plane)
        for (int64_t i = 0; i < axis.in; ++i) {
            const bool has_term = axis.first[i] < axis.last[i];
            place = std::fill_n(place, inner, has_term ? *axis.scale_from<float>(axis.first[i]) : 0);
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
