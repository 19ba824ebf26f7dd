// Rows in the order of experts, as inference uses them (npu_moe_init_routing and its kin).
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "mixture of experts"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

struct Sorted {
    at::Tensor values, order;
};
Sorted sorted(const at::Tensor& x) {
    const auto [values, order] = at::sort(x, /*stable=*/true, -1, /*descending=*/false);
    return {values, order};
}

// The place of each element in the order.
at::Tensor places_in(const at::Tensor& order) {
    return at::zeros_like(order).scatter(0, order, at::arange(order.numel(), at::kLong));
}

void require_routed(const at::Tensor& x, const at::Tensor& expert_idx) {
    if (x.dim() != 2) refuse("x", "2 dimensions", shape_text(x.sizes()));
    if (expert_idx.dim() != 2 || expert_idx.size(0) != x.size(0))
        refuse("expertIdx", c10::str(x.size(0), " rows, as x has"), shape_text(expert_idx.sizes()));
}

// Copies of tokens in the order of experts from `first` on, of which those before `end` count; the copies of experts before `first` come
// last.
struct Routing {
    at::Tensor experts, order;  // for each place in the order: its expert, and which copy it is
    at::Tensor chosen;          // the experts of the copies that go to one of them
    int64_t copies, first, end;

    Routing(const at::Tensor& expert_idx, int64_t first, int64_t end) : first(first), end(end) {
        const at::Tensor flat = expert_idx.to(at::kLong).flatten();
        const at::Tensor inside = flat.ge(first).logical_and(flat.lt(end));
        const Sorted by_expert = sorted(flat.masked_fill(flat.lt(first), std::numeric_limits<int64_t>::max()));
        experts = by_expert.values;
        order = by_expert.order;
        chosen = flat.masked_select(inside);
        copies = chosen.numel();
    }
    // Copies for each of the experts.
    at::Tensor counts() const { return at::bincount(chosen - first, {}, end - first); }
    // The place of a copy within its expert.
    at::Tensor within() const {
        const at::Tensor all = counts(), starts = at::cumsum(all, 0) - all;
        return at::arange(copies, at::kLong) - starts.index_select(0, experts.narrow(0, 0, copies) - first);
    }
    at::Tensor own_order() const { return order.narrow(0, 0, copies); }
    at::Tensor own_experts() const { return experts.narrow(0, 0, copies); }
};

// For each copy the row of the result that it goes to, or -1.
at::Tensor rows_of_copies(const Routing& routing, const at::Tensor& rows) {
    return at::full({routing.order.numel()}, -1, at::kLong).scatter(0, routing.own_order(), rows);
}

// The rows of copies where each expert has room for so many; -1 for those that are dropped.
at::Tensor rows_by_capacity(const Routing& routing, int64_t capacity) {
    const at::Tensor within = routing.within();
    return at::where(within.lt(capacity), routing.own_experts() * capacity + within, at::full({}, -1, at::kLong));
}

// Numbers of copies: their running sum (0), as they are (1), or pairs of an expert and its number where there are any (2).
void write_counts(const Routing& routing, int64_t type, const std::optional<at::Tensor>& out) {
    if (!out) return;
    const at::Tensor counts = routing.counts();
    if (type < 2) return write(out, type == 0 ? at::cumsum(counts, 0) : counts);
    const at::Tensor used = at::nonzero(counts).squeeze(1);
    const at::Tensor pairs = at::stack({used + routing.first, counts.index_select(0, used)}, 1);
    out->zero_();
    out->narrow(0, 0, pairs.size(0)).copy_(pairs);
}

// {experts, capacity, features}, with zeros where an expert has fewer.
at::Tensor padded(const at::Tensor& rows, const at::Tensor& places, int64_t count) {
    std::vector<int64_t> sizes = rows.sizes().vec();
    sizes[0] = count;
    const at::Tensor kept = at::nonzero(places.ge(0)).squeeze(1);
    return at::zeros(sizes, rows.options()).index_copy(0, places.index_select(0, kept), rows.index_select(0, kept));
}

// A row for each copy, of which the caller may want the first ones only, at most so many; or as much room for each expert.
Expected expanded(const at::Tensor& x, int64_t most, int64_t mode, int64_t capacity, int64_t experts, const at::Tensor& out) {
    if (mode == 0) return shape({out.dim() == 2 ? std::min(out.size(0), most) : most, x.size(1)});
    if (capacity <= 0) refuse("expertCapacity", "at least 1, as dropPadMode is 1", std::to_string(capacity));
    return shape({experts, capacity, x.size(1)});
}
// The copies' numbers: one for each expert, or a pair.
Expected counts_of(at::IntArrayRef range, int64_t experts, int64_t type) {
    return type < 2 ? shape({range[1] - range[0]}) : shape({experts, 2});
}

// Rows of x by a list of copies.
at::Tensor rows_of(const at::Tensor& x, const at::Tensor& copies, int64_t k) {
    return x.index_select(0, copies.floor_divide(k));
}

// Rows as they are stored: unchanged (mode -1), or with static (0) or dynamic (1) quantisation.
at::Tensor quantised(const at::Tensor& rows, int64_t mode, const std::optional<at::Tensor>& scale, const std::optional<at::Tensor>& offset,
                     const at::Tensor& experts, const std::optional<at::Tensor>& scale_out) {
    if (mode < 0) return rows;
    at::Tensor numbers = to_double(rows);
    if (mode == 0) return numbers * to_double(*scale).flatten()[0] + to_double(*offset).flatten()[0];
    if (given(scale)) numbers = numbers * (scale->size(0) == 1 ? to_double(*scale) : to_double(*scale).index_select(0, experts));
    const DynamicallyQuantised result = quantise_rows(numbers, 127);
    if (scale_out) scale_out->narrow(0, 0, rows.size(0)).copy_(result.scale);
    return result.numbers;
}

void require_quantisation(int64_t mode, int64_t drop_pad_mode, const std::optional<at::Tensor>& scale,
                          const std::optional<at::Tensor>& offset) {
    if (mode >= 0 && drop_pad_mode != 0) refuse("quantMode", "-1, as dropPadMode is 1: the engine has no other", std::to_string(mode));
    if (mode != 0) return;
    if (!given(scale)) torch_aclnn::host::refuse_null("scale", "a tensor, as quantMode is 0");
    if (!given(offset)) torch_aclnn::host::refuse_null("offset", "a tensor, as quantMode is 0");
}

void require_range(at::IntArrayRef range, int64_t experts) {
    if (range[0] < 0 || range[1] < range[0] || range[1] > experts)
        refuse("activeExpertRange", c10::str("a rising pair from 0 to ", experts), c10::str(range));
}

// The sum over the experts of a token: scale (row + bias), and what skips the experts.
void finalize(const at::Tensor& rows, const at::Tensor& row_of_copy, const std::optional<at::Tensor>& skip1,
              const std::optional<at::Tensor>& skip2, const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& scales,
              const std::optional<at::Tensor>& experts, bool by_token, at::Tensor& out) {
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

void require_finalized(const at::Tensor& rows, const at::Tensor& row_of_copy, const std::optional<at::Tensor>& bias,
                       const std::optional<at::Tensor>& experts, const at::Tensor& out) {
    if (rows.dim() < 2) refuse("expandedX", "at least 2 dimensions", shape_text(rows.sizes()));
    const int64_t tokens = out.dim() > 0 ? out.size(0) : 0;
    if (tokens == 0 || row_of_copy.numel() % tokens != 0)
        refuse("out", c10::str("a number of rows that divides expandedRowIdx's ", row_of_copy.numel()), shape_text(out.sizes()));
    if (given(bias) && !given(experts)) torch_aclnn::host::refuse_null("expertIdx", "a tensor, as there is a bias");
    if (given(bias)) require_expected("bias", *bias, shape({bias->dim() == 2 ? bias->size(0) : 0, rows.size(-1)}));
    if (given(bias) && experts->numel() != row_of_copy.numel())
        refuse("expertIdx", c10::str(row_of_copy.numel(), " values, as expandedRowIdx has"), shape_text(experts->sizes()));
}

// Of the copies of each token.
OrEmpty by_copy(const at::Tensor& row_of_copy, const at::Tensor& out) {
    return or_empty(shape({out.size(0), row_of_copy.numel() / out.size(0)}));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using CountType = Between<int64_t, 0, 2>;
using ExpertQuantMode = Between<int64_t, -1, 1>;
using FinalizeMode = Between<int64_t, 0, 3>;
using OrMinusOne = Between<int64_t, -1, kUnbounded>;  // -1: not given
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnMoeInitRouting, FLOATING, require_routed(x, expertIdx), (In, x), (In, rowIdx, shaped_like(expertIdx)),
                   (In, expertIdx), (NotNegative, activeNum),
                   (Out, expandedX, shape({std::min(activeNum, x.size(0)) * expertIdx.size(1), x.size(1)})),
                   (Out, expandedRowIdx, shape({expertIdx.numel()})), (Out, expandedExpertIdx, shape({expertIdx.numel()}))) {
    const Sorted by_expert = sorted(expertIdx.flatten());
    const at::Tensor copies = rowIdx.to(at::kLong).flatten().index_select(0, by_expert.order);
    const int64_t rows = std::min(activeNum, x.size(0)) * expertIdx.size(1);
    write(expandedX, x.index_select(0, copies.narrow(0, 0, rows).remainder(std::max<int64_t>(x.size(0), 1))));
    write(expandedRowIdx, places_in(copies));
    write(expandedExpertIdx, by_expert.values);
}
ATEN_CHECKED_ENTRY(aclnnMoeInitRoutingV2, FLOATING, require_routed(x, expertIdx), (In, x), (In, expertIdx), (NotNegative, activeNum),
                   (NotNegative, expertCapacity), (NotNegative, expertNum), (TrueOrNot, dropPadMode),
                   (CountType, expertTokensCountOrCumsumFlag), (Bool, expertTokensBeforeCapacityFlag),
                   (Out, expandedX, expanded(x, expertIdx.numel(), dropPadMode, expertCapacity, expertNum, expandedX)),
                   (Out, expandedRowIdx, shape({expertIdx.numel()})),
                   (OptOut, expertTokensCountOrCumsum,
                    if_wanted(dropPadMode == 0 && expertTokensCountOrCumsumFlag != 0, shape({expertNum}))),
                   (OptOut, expertTokensBeforeCapacity,
                    if_wanted(dropPadMode == 1 && expertTokensBeforeCapacityFlag, shape({expertNum})))) {
    const int64_t k = expertIdx.size(1);
    const bool counted = dropPadMode == 1 || expertTokensCountOrCumsumFlag != 0;
    const Routing routing(expertIdx, 0, counted ? expertNum : std::numeric_limits<int32_t>::max());
    if (dropPadMode == 1) {
        const at::Tensor rows = rows_by_capacity(routing, expertCapacity);
        write(expandedX, padded(rows_of(x, routing.own_order(), k), rows, expertNum * expertCapacity));
        write(expandedRowIdx, rows_of_copies(routing, rows));
        if (expertTokensBeforeCapacityFlag) write(expertTokensBeforeCapacity, routing.counts());
        return;
    }
    write(expandedX, rows_of(x, routing.order.narrow(0, 0, expandedX.size(0)), k));
    write(expandedRowIdx, places_in(routing.order));
    if (counted) write_counts(routing, expertTokensCountOrCumsumFlag == 1 ? 0 : 1, expertTokensCountOrCumsum);
}
// The experts of a part of all. What is behind the last row of their copies stays as it is.
ATEN_CHECKED_ENTRY(aclnnMoeInitRoutingV3, FLOATING | INT8,
                   (require_routed(x, expertIdx), require_quantisation(quantMode, dropPadMode, scale, offset),
                    require_range(activeExpertRange, expertNum)),
                   (In, x), (In, expertIdx), (OptIn, scale), (OptIn, offset), (OrMinusOne, activeNum), (OrMinusOne, expertCapacity),
                   (Positive, expertNum), (TrueOrNot, dropPadMode), (CountType, expertTokensNumType), (Bool, expertTokensNumFlag),
                   (ExpertQuantMode, quantMode), (Exactly<2>, activeExpertRange), (TrueOrNot, rowIdxType),
                   (Out, expandedX, expanded(x, kUnbounded, dropPadMode, expertCapacity, expertNum, expandedX)),
                   (Out, expandedRowIdx, shape({expertIdx.numel()})),
                   (OptOut, expertTokensCountOrCumsum,
                    if_wanted(expertTokensNumFlag, counts_of(activeExpertRange, expertNum, expertTokensNumType))),
                   (OptOut, expandedScale, if_wanted(quantMode == 1, shape({expandedX.size(0)})))) {
    const int64_t k = expertIdx.size(1);
    const Routing routing(expertIdx, activeExpertRange[0], activeExpertRange[1]);
    if (expertTokensNumFlag) write_counts(routing, expertTokensNumType, expertTokensCountOrCumsum);
    if (dropPadMode == 1) {
        const at::Tensor rows = rows_by_capacity(routing, expertCapacity);
        write(expandedX, padded(rows_of(x, routing.own_order(), k), rows, expertNum * expertCapacity));
        write(expandedRowIdx, rows_of_copies(routing, rows));
        if (given(scale)) write(expandedScale, padded(rows_of(*scale, routing.own_order(), k), rows, expertNum * expertCapacity));
        return;
    }
    write(expandedRowIdx, rowIdxType == 1 ? routing.order : rows_of_copies(routing, at::arange(routing.copies, at::kLong)));
    const int64_t rows = std::min(routing.copies, expandedX.size(0));
    const at::Tensor copies = routing.order.narrow(0, 0, rows), experts = routing.experts.narrow(0, 0, rows) - routing.first;
    at::Tensor place = expandedX.narrow(0, 0, rows);
    write_rounded(place, quantised(rows_of(x, copies, k), quantMode, scale, offset, experts, expandedScale));
    if (quantMode < 0 && given(scale) && expandedScale) expandedScale->narrow(0, 0, rows).copy_(rows_of(*scale, copies, k));
}

// How many rows go to an expert or to one before it.
ATEN_ENTRY(aclnnMoeComputeExpertTokens, INT32, (In, sortedExperts, shape({sortedExperts.numel()})), (Positive, numExperts),
           (Out, out, shape({numExperts}))) {
    const at::Tensor experts = sortedExperts.to(at::kLong).contiguous();
    write(out, at::searchsorted(experts, at::arange(numExperts, at::kLong), false, /*right=*/true));
}

ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRouting, FLOATING, require_finalized(expandedX, expandedRowIdx, bias, expertIdx, out), (In, expandedX),
                   (In, skip1, or_empty(shaped_like(out))), (OptIn, skip2, or_empty(shaped_like(out))), (In, bias),
                   (In, scales, by_copy(expandedRowIdx, out)), (In, expandedRowIdx), (In, expertIdx),
                   (Out, out, shape({out.size(0), expandedX.size(-1)}))) {
    finalize(expandedX, expandedRowIdx, skip1, skip2, bias, scales, expertIdx, false, out);
}
// In modes 2 and 3 the copies of a token lie side by side.
ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRoutingV2, FLOATING, require_finalized(expandedX, expandedRowIdx, bias, expertIdx, out), (In, expandedX),
                   (In, expandedRowIdx), (OptIn, x1, or_empty(shaped_like(out))), (OptIn, x2, or_empty(shaped_like(out))), (OptIn, bias),
                   (OptIn, scales, by_copy(expandedRowIdx, out)), (OptIn, expertIdx), (FinalizeMode, dropPadMode),
                   (Out, out, shape({out.size(0), expandedX.size(-1)}))) {
    finalize(expandedX, expandedRowIdx, x1, x2, bias, scales, expertIdx, dropPadMode >= 2, out);
}
