#include "kernels/separable/cell_sums.h"

namespace torch_aclnn::kernels {

CellSumsPlan::CellSumsPlan(const AxisTable* axes, int count, int64_t inner, int64_t lanes) : lanes_(lanes) {
    const int64_t source_size = product(axes, axes + count, &AxisTable::out) * inner;
    cells_.reserve(source_size);
    for (int64_t i = 0; i < source_size; ++i) cells_.push_back(new_cell());
    cell_count_ = std::max(cell_count_, kMaxTile);  // a tile is read as a whole
    zero_ = new_cell();
    const AxisTable& last = axes[count - 1];
    std::vector<float> last_scale;
    for (int64_t i = 0; last.scale != nullptr && i < last.out; ++i) last_scale.insert(last_scale.end(), inner, *last.scale_from<float>(i));
    for (int stage = 0; stage < count; ++stage) {
        const int64_t outer = product(axes, axes + stage, &AxisTable::in);
        const int64_t numbers = product(axes + stage + 1, axes + count, &AxisTable::out) * inner;
        if (axes[stage].scale != nullptr && stage + 1 < count) scale_terms(axes[stage], outer, numbers);
        sum(axes[stage], outer, numbers, stage + 2 == count && !last_scale.empty() ? last_scale.data() : nullptr);
    }
    cells_.resize(cells_.size() + kMaxTile, zero_);
}

void CellSumsPlan::scale_terms(const AxisTable& axis, int64_t outer, int64_t inner) {
    first_group_ = groups_.size();
    Group& group = group_of(1);
    auto cell = cells_.begin();
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.out; ++i)
            for (int64_t j = 0; j < inner; ++j, ++cell) {
                const int32_t scaled = new_cell();
                group.cells.insert(group.cells.end(), {scaled, *cell});
                group.scale.push_back(*axis.scale_from<float>(i));
                *cell = scaled;
            }
}

void CellSumsPlan::sum(const AxisTable& axis, int64_t outer, int64_t inner, const float* scale) {
    first_group_ = groups_.size();
    std::vector<int32_t> source(outer * axis.in * inner);
    cells_.swap(source);
    auto result = cells_.begin();
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < axis.in; ++i, result += inner) {
            const int64_t terms = axis.last[i] - axis.first[i];
            const bool like_last = i > 0 && axis.first[i] == axis.first[i - 1] && axis.last[i] == axis.last[i - 1];
            const auto term = [&](int64_t t) { return &source[(o * axis.out + axis.index(axis.first[i] + t)) * inner]; };
            if (like_last)
                std::copy_n(result - inner, inner, result);
            else if (terms == 0)
                std::fill_n(result, inner, zero_);
            else if (terms == 1 && scale == nullptr)
                std::copy_n(term(0), inner, result);
            else
                add(terms, inner, scale, term, &*result);
        }
}

template <class Term>
void CellSumsPlan::add(int64_t terms, int64_t inner, const float* scale, const Term& term, int32_t* result) {
    Group& group = group_of(terms);
    size_t at = group.cells.size();
    group.cells.resize(at + (1 + terms) * inner);
    for (int64_t j = 0; j < inner; ++j) {
        group.cells[at++] = result[j] = new_cell();
        for (int64_t t = 0; t < terms; ++t) group.cells[at++] = term(t)[j];
    }
    if (scale != nullptr) group.scale.insert(group.scale.end(), scale, scale + inner);
}

CellSumsPlan::Group& CellSumsPlan::group_of(int64_t terms) {
    const auto group =
        std::find_if(groups_.begin() + static_cast<int64_t>(first_group_), groups_.end(), [=](const Group& g) { return g.terms == terms; });
    return group != groups_.end() ? *group : groups_.emplace_back(Group{terms, {}, {}});
}

std::vector<CellSums> CellSumsPlan::sums() const {
    std::vector<CellSums> sums;
    for (const Group& group : groups_)
        sums.push_back({static_cast<int64_t>(group.cells.size()) / (1 + group.terms), group.terms, group.cells.data(),
                        group.scale.empty() ? nullptr : group.scale.data()});
    return sums;
}

}  // namespace torch_aclnn::kernels
