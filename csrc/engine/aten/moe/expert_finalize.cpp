// Sums of the rows that a token's experts make, and the gradients of routing (npu_moe_finalize_routing and its kin).

#include "vocabulary/moe/expert_finalize_calls.h"

// Writes the sum over the experts of a token, scale (row + bias), and what skips the experts.
static void finalize(const at::Tensor& rows, const at::Tensor& row_of_copy, const OptTensor& skip1, const OptTensor& skip2,
                     const OptTensor& bias, const OptTensor& scales, const OptTensor& experts, bool by_token, at::Tensor& out) {
    const int64_t tokens = out.size(0), k = row_of_copy.numel() / std::max<int64_t>(tokens, 1);
    const at::Tensor places = by_token ? row_of_copy.view({tokens, k}) : row_of_copy.view({k, tokens}).t();
    const at::Tensor flat = upcast(rows).flatten(0, -2), all = at::cat({flat, flat.new_zeros({1, flat.size(1)})});
    const at::Tensor index = places.to(at::kLong).flatten(), none = at::full({}, flat.size(0), at::kLong);
    at::Tensor values = all.index_select(0, at::where(index.lt(0), none, index)).view({tokens, k, flat.size(1)});
    if (given(bias)) values = values + upcast(*bias).index_select(0, experts->to(at::kLong).flatten()).view_as(values);
    if (given(scales)) values = values * upcast(*scales).unsqueeze(-1);
    at::Tensor sum = values.sum(1);
    if (given(skip1)) sum = sum + upcast(*skip1);
    if (given(skip2)) sum = sum + upcast(*skip2);
    write(out, sum);
}

// The shape {tokens, copies of each}, or no elements.
static OrEmpty<> by_copy(const at::Tensor& row_of_copy, const at::Tensor& out) {
    return or_empty(shape({size_of(out, 0), row_of_copy.numel() / size_of(out, 0)}));
}

// Returns the rows at these places; zeros for a place that is none, such as those of dropped copies.
static at::Tensor rows_or_none(const at::Tensor& rows, const at::Tensor& places) {
    const at::Tensor flat = rows.flatten(0, -2), all = at::cat({flat, flat.new_zeros({1, flat.size(1)})});
    const at::Tensor index = places.to(at::kLong).flatten();
    return all.index_select(0, index.masked_fill(index.lt(0).logical_or(index.ge(flat.size(0))), flat.size(0)));
}
// Puts rows to their places; those without a place go nowhere.
static at::Tensor rows_to(const at::Tensor& rows, const at::Tensor& places, int64_t count) {
    const at::Tensor index = places.to(at::kLong).flatten(), there = at::nonzero(index.ge(0).logical_and(index.lt(count))).squeeze(1);
    return rows.new_zeros({count, rows.size(1)}).index_copy(0, index.index_select(0, there), rows.index_select(0, there));
}

// The shape is {rows, features}, or has as much room for each expert {experts, capacity, features}.
static Expected expanded_like(const at::Tensor& grad, int64_t mode, int64_t active, int64_t experts, int64_t capacity, int64_t copies) {
    if (mode == 1) return shape({experts, capacity, grad.size(1)});
    return shape({active > 0 ? std::min(active, copies) : copies, grad.size(1)});
}
static int64_t copies_of_token(const at::Tensor& row_of_copy, const at::Tensor& grad) {
    return row_of_copy.numel() / std::max<int64_t>(grad.size(0), 1);
}

static void check(const call::MoeFinalizeRoutingV2& a) {
    require_size({"out", a.out}, 0, 1);
    require_given("expertIdx", a.expertIdx, "a tensor, as there is a bias", given(a.bias));
    require_not_given("zeroExpertRange", a.zeroExpertRange);
    require_not_given("copyExpertRange", a.copyExpertRange);
    require_not_given("constExpertRange", a.constExpertRange);
    // The fourth version says how many experts a token has, which scales would say by their columns.
    if (a.k != 0 && !given(a.scales) && size_of(a.out, 0) * a.k != a.expandedRowIdx.numel())
        refuse("k", c10::str(a.expandedRowIdx.numel() / size_of(a.out, 0), ", as expandedRowIdx and out say"), std::to_string(a.k));
}
// The copies of a token lie side by side.
static void compute(const call::MoeFinalizeRoutingV2Grad& a) {
    const int64_t k = copies_of_token(a.expandedRowIdx, a.gradY);
    const at::Tensor grad = upcast(a.gradY).repeat_interleave(k, 0);
    const at::Tensor weighted = given(a.scales) ? grad * upcast(*a.scales).reshape({-1, 1}) : grad;
    write(a.gradExpandedX, rows_to(weighted, a.expandedRowIdx, a.gradExpandedX.numel() / std::max<int64_t>(a.gradY.size(1), 1)));
    if (!given(a.scales)) return;
    at::Tensor rows = rows_or_none(upcast(*a.expandedX), a.expandedRowIdx);
    if (given(a.bias)) rows = rows + upcast(*a.bias).index_select(0, a.expertIdx->to(at::kLong).flatten());
    write(a.gradScales, (rows * grad).sum(1));
}
