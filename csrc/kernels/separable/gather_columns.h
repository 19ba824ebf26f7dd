// Sums along a row by a table that lists their terms, for windows of different sizes and for short rows.
#pragma once

#include "kernels/separable/stages.h"

namespace torch_aclnn::kernels {

// Returns the plan for cells of `inner` adjacent numbers, where `readable` numbers of the source may be read.
inline GatherPlan row_plan(const AxisTable& columns, int64_t inner, int64_t readable) {
    std::vector<GatherRow> cells;
    cells.reserve(columns.in);
    for (int64_t w = 0; w < columns.in; ++w) cells.push_back({columns.first[w], columns.last[w], 0});
    return {gather_lanes(), cells, inner, readable, [&](int64_t term) { return columns.index(term); }};
}

// What filling the runs of equal columns costs, in steps of a table: the numbers that are added up, or for cells of several numbers, which
// are stored one by one, two a run.
inline int64_t steps_of_filling(const Axis& columns, int64_t inner) {
    if (inner > 1) return 2 * columns.run_count();
    int64_t terms = 0;
    for (int64_t w = 0; w < columns.in(); w = columns.run_end()[w]) terms += columns.last()[w] - columns.first()[w];
    return terms;
}

// Returns the plan for rows in which so many columns differ from their neighbours that filling runs of equal ones takes longer, and which
// are enough to pay for it; else an empty plan.
template <class S>
GatherPlan plan_columns(const Axis& columns, int64_t inner, int64_t row_count) {
    const int64_t lanes = gather_lanes();
    if (!std::is_same_v<S, float> || lanes == 0 || row_count < thresholds::kTableRows) return {};
    // There is room for a vector behind the sums.
    const GatherPlan plan = row_plan(columns.table(), inner, columns.out() * inner + lanes);
    return steps_of_filling(columns, inner) > plan.step_count() ? plan : GatherPlan{};
}

}  // namespace torch_aclnn::kernels
