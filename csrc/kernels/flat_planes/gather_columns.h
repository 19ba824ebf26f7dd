// Unequal windows along a row, whose sums a table lists.
#pragma once

#include "kernels/flat_planes/flat_planes.h"

namespace torch_aclnn::kernels {

// The plan for rows in which so many columns differ from their neighbours that filling runs of equal ones takes longer, and which are
// enough to pay for it; else an empty one.
template <class S>
GatherPlan plan_columns(const WindowAxis& columns, int64_t windows, int64_t row_count) {
    constexpr int64_t kMinRows = 128;
    const int64_t lanes = gather_lanes();
    if (!std::is_same_v<S, float> || lanes == 0 || row_count < kMinRows) return {};
    std::vector<GatherRow> cells;
    for (int64_t w = 0; w < columns.in(); ++w) cells.push_back({columns.first()[w], columns.last()[w], 0});
    // Behind the sums there is room for a vector.
    const GatherPlan plan(lanes, cells, 1, windows + lanes, [](int64_t window) { return window; });
    return columns.run_count() > plan.step_count() ? plan : GatherPlan{};
}

}  // namespace torch_aclnn::kernels
