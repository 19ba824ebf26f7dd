// Tokens in the order of their experts, of which a rank takes the rows of a range.

#include "engine/aten/moe/expert_permutation.h"
#include "vocabulary/moe/expert_range_permutation_calls.h"

namespace {

struct RowRange {
    int64_t first, end;
    int64_t size() const { return end - first; }
};
// Returns the rows of the range. Without a range they are the first `wanted` rows; 0 and negative numbers count from the end.
RowRange row_range(const OptNumbers& range, int64_t rows, int64_t wanted) {
    if (!range || range->empty()) return {0, wanted > 0 ? std::min(wanted, rows) : std::max<int64_t>(rows + wanted, 0)};
    require_rising_pair("range", *range, rows);
    return {(*range)[0], (*range)[1]};
}

// Returns the rows at these places of all rows, of which only those of a range are given; zeros for places outside of it.
at::Tensor rows_of_range(const at::Tensor& rows, const at::Tensor& places, const RowRange& range) {
    const at::Tensor index = places.to(at::kLong).flatten(), outside = index.lt(range.first).logical_or(index.ge(range.end));
    const at::Tensor taken =
        rows.index_select(0, (index - range.first).masked_fill(outside, 0).clamp_max(std::max<int64_t>(rows.size(0) - 1, 0)));
    return taken.masked_fill(outside.view({-1, 1}), 0);
}

}  // namespace

static void compute(const call::MoeTokenPermuteWithEp& a) {
    const at::Tensor order = at::argsort(a.indices.flatten(), /*stable=*/true, 0, false);
    const RowRange rows = row_range(a.range, order.numel(), a.numOutTokens);
    const at::Tensor copies = order.narrow(0, rows.first, rows.size());
    write(a.permuteTokensOut,
          a.tokens.index_select(0, copies.floor_divide(std::max<int64_t>(order.numel() / std::max<int64_t>(a.tokens.size(0), 1), 1))));
    write(a.sortedIndicesOut, at::argsort(order));
    if (given(a.probs)) write(a.permuteProbsOut, a.probs->flatten().index_select(0, copies));
}
static void compute(const call::MoeTokenPermuteWithEpGrad& a) {
    const RowRange rows = row_range(a.range, a.sortedIndices.numel(), 0);
    const at::Tensor copies = rows_of_range(upcast(a.permutedTokensOutputGrad), a.sortedIndices, rows);
    write(a.tokenGradOut, copies.view({a.tokenGradOut.size(0), a.numTopk, -1}).sum(1));
    if (given(a.permutedProbsOutputGrad))
        write(a.probsGradOut, rows_of_range(a.permutedProbsOutputGrad->unsqueeze(1), a.sortedIndices, rows));
}

// A token is the weighted sum of its copies; only the copies of the range exist.
static void compute(const call::MoeTokenUnpermuteWithEp& a) {
    at::Tensor copies = rows_of_range(upcast(a.permutedTokens), a.sortedIndices, row_range(a.range, a.sortedIndices.numel(), 0));
    if (given(a.probs)) copies = copies * upcast(*a.probs).reshape({-1, 1});
    write(a.out, copies.view({a.out.size(0), a.numTopk, -1}).sum(1));
}
