// What lies between the choice of experts and their products: copies of experts on several ranks, and rows that came from several ranks.

#include "vocabulary/moe/expert_balance_calls.h"

// Returns which copy of an expert a token goes to: the one of the rank, or the copies in turn.
static at::Tensor copy_of_expert(const at::Tensor& copies, int64_t rank, int64_t ranks, int64_t by_token) {
    if (by_token == 1) return at::arange(copies.size(0), at::kLong).unsqueeze(1).remainder(copies);
    const at::Tensor ranks_of_copy = (copies + ranks - 1).floor_divide(copies);
    return at::full_like(copies, rank).floor_divide(ranks_of_copy);
}

// Reorders rows that are sorted by rank so that they are sorted by expert.
static void compute(const call::MoeReRouting& a) {
    const at::Tensor counts = a.expertTokenNumPerRank.to(at::kLong), numbers = counts.sum(0);
    const at::Tensor experts = at::arange(counts.size(1), at::kLong).expand_as(counts);
    const at::Tensor expert_of_row = at::repeat_interleave(experts.flatten(), counts.flatten());
    if (expert_of_row.numel() != a.tokens.size(0))
        refuse("expertTokenNumPerRank", c10::str("numbers with the sum ", a.tokens.size(0)), std::to_string(expert_of_row.numel()));
    const at::Tensor order = at::argsort(expert_of_row, /*stable=*/true, 0, false);
    write(a.permuteTokens, a.tokens.index_select(0, order));
    if (given(a.perTokenScales)) write(a.permutePerTokenScales, a.perTokenScales->index_select(0, order));
    write(a.permuteTokenIdx, a.idxType == 0 ? order : at::argsort(order));
    write(a.expertTokenNum, a.expertTokenNumType == 1 ? numbers : at::cumsum(numbers, 0));
}

static void check(const call::MoeUpdateExpert& a) {
    require_size({"eplbTable", a.eplbTable}, 0, 1);
    require_size({"eplbTable", a.eplbTable}, 1, 2);
    if (a.balanceMode == 0) {
        require_between("worldSize", a.worldSize, 1, 1 << 20);
        require_between("localRankId", a.localRankId, 0, a.worldSize - 1);
    }
    require_given("expertScales", a.expertScales, "a tensor, as there is a pruningThreshold", given(a.pruningThreshold));
    if ((given(a.expertScales) || given(a.activeMask)) && !given(a.pruningThreshold))
        refuse_null("pruningThreshold", "a tensor, as experts shall be pruned");
}
// A row of the table has the number of an expert's copies and then where they are.
static void compute(const call::MoeUpdateExpert& a) {
    const at::Tensor table =
        a.eplbTable.to(at::kLong).index_select(0, a.expertIds.to(at::kLong).flatten()).unflatten(0, a.expertIds.sizes());
    const at::Tensor copies = table.select(-1, 0);
    if (copies.numel() > 0 && copies.min().item<int64_t>() < 1)
        refuse("eplbTable", "at least one copy of each expert", c10::str(copies.min().item<int64_t>()));
    const at::Tensor place = copy_of_expert(copies, a.localRankId, a.worldSize, a.balanceMode) + 1;
    write(a.balancedExpertIds, table.gather(-1, place.unsqueeze(-1)).squeeze(-1));
    if (!given(a.pruningThreshold)) return;
    const at::Tensor scales = upcast(*a.expertScales);
    const at::Tensor kept = (scales.sum(1, true) * upcast(*a.pruningThreshold).reshape({1, -1})).lt(scales);
    write(a.balancedActiveMask, given(a.activeMask) ? kept.logical_and(a.activeMask->to(at::kBool).reshape({-1, 1})) : kept);
}
