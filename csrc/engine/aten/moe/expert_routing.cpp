// Rows in the order of experts, as inference uses them (npu_moe_init_routing and its kin).

#include "engine/aten/moe/expert_permutation.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/moe/expert_routing_calls.h"

namespace {

struct Sorted {
    at::Tensor values, order;
};
Sorted sorted(const at::Tensor& x) {
    const auto [values, order] = at::sort(x, /*stable=*/true, -1, /*descending=*/false);
    return {values, order};
}

at::Tensor places_in(const at::Tensor& order) {
    return at::zeros_like(order).scatter(0, order, at::arange(order.numel(), at::kLong));
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
        const Sorted by_expert = sorted(flat.masked_fill(flat.lt(first), kUnbounded));
        experts = by_expert.values;
        order = by_expert.order;
        chosen = flat.masked_select(inside);
        copies = chosen.numel();
    }
    at::Tensor counts() const { return at::bincount(chosen - first, {}, end - first); }
    at::Tensor within() const {
        const at::Tensor all = counts(), starts = at::cumsum(all, 0) - all;
        return at::arange(copies, at::kLong) - starts.index_select(0, experts.narrow(0, 0, copies) - first);
    }
    at::Tensor own_order() const { return order.narrow(0, 0, copies); }
    at::Tensor own_experts() const { return experts.narrow(0, 0, copies); }
};

// Returns for each copy the row of the result that it goes to, or -1.
at::Tensor rows_of_copies(const Routing& routing, const at::Tensor& rows) {
    return at::full({routing.order.numel()}, -1, at::kLong).scatter(0, routing.own_order(), rows);
}

// Returns the rows of copies if each expert has room for `capacity` copies; -1 for dropped ones.
at::Tensor rows_by_capacity(const Routing& routing, int64_t capacity) {
    const at::Tensor within = routing.within();
    return at::where(within.lt(capacity), routing.own_experts() * capacity + within, at::full({}, -1, at::kLong));
}

// Numbers of copies: their running sum (0), as they are (1), or pairs of an expert and its number where there are any (2).
void write_counts(const Routing& routing, int64_t type, const OptTensor& out) {
    if (!out) return;
    const at::Tensor counts = routing.counts();
    if (type < 2) return write(out, type == 0 ? at::cumsum(counts, 0) : counts);
    const at::Tensor used = at::nonzero(counts).squeeze(1);
    const at::Tensor pairs = at::stack({used + routing.first, counts.index_select(0, used)}, 1);
    out->zero_();
    out->narrow(0, 0, pairs.size(0)).copy_(pairs);
}

// Returns {experts, capacity, features}, with zeros where an expert has fewer rows.
at::Tensor padded(const at::Tensor& rows, const at::Tensor& places, int64_t count) {
    const at::Tensor kept = at::nonzero(places.ge(0)).squeeze(1);
    return rows.new_zeros(with_rows(rows, count).sizes).index_copy(0, places.index_select(0, kept), rows.index_select(0, kept));
}

// There is a row for each copy, of which the caller may want the first ones only; or as much room for each expert.
Expected expanded(const at::Tensor& x, int64_t most, int64_t mode, int64_t capacity, int64_t experts, const at::Tensor& out) {
    if (mode == 0) return shape({out.dim() == 2 ? std::min(out.size(0), most) : most, x.size(1)});
    if (capacity <= 0) refuse("expertCapacity", "at least 1, as dropPadMode is 1", std::to_string(capacity));
    return shape({experts, capacity, x.size(1)});
}
Expected counts_of(at::IntArrayRef range, int64_t experts, int64_t type) {
    return type < 2 ? shape({range[1] - range[0]}) : shape({experts, 2});
}

at::Tensor rows_of(const at::Tensor& x, const at::Tensor& copies, int64_t k) {
    return x.index_select(0, copies.floor_divide(k));
}

// Returns rows as they are stored: unchanged (mode -1), or with static (0) or dynamic (1) quantisation.
at::Tensor quantised(const at::Tensor& rows, int64_t mode, const OptTensor& scale, const OptTensor& offset, const at::Tensor& experts,
                     const OptTensor& scale_out) {
    if (mode < 0) return rows;
    at::Tensor numbers = to_double(rows);
    if (mode == 0) return numbers * to_double(*scale).flatten()[0] + to_double(*offset).flatten()[0];
    if (given(scale)) numbers = numbers * (scale->size(0) == 1 ? to_double(*scale) : to_double(*scale).index_select(0, experts));
    const DynamicallyQuantised result = quantise_rows(numbers, 127);
    if (scale_out) scale_out->narrow(0, 0, rows.size(0)).copy_(result.scale);
    return result.numbers;
}

void require_quantisation(int64_t mode, int64_t drop_pad_mode, const OptTensor& scale, const OptTensor& offset) {
    if (mode >= 0 && drop_pad_mode != 0) refuse("quantMode", "-1, as dropPadMode is 1: the engine has no other", std::to_string(mode));
    if (mode != 0) return;
    for (const auto& [name, tensor] : {NamedOptional{"scale", scale}, {"offset", offset}})
        if (!given(tensor)) refuse_null(name, "a tensor, as quantMode is 0");
}

// The copies that have a row in the result, in the order of their experts; with a capacity also their places among so many.
struct KeptCopies {
    at::Tensor copies, experts, places;
    int64_t rows;

    at::Tensor in_place(const at::Tensor& of_copies) const { return places.defined() ? padded(of_copies, places, rows) : of_copies; }
};
// Writes where each copy went and how many there are.
KeptCopies kept_copies(const auto& a) {
    const int64_t flag = a.expertTokensCountOrCumsumFlag, rows = a.expandedX.size(0);
    const Routing routing(a.expertIdx, 0, a.dropPadMode == 1 || flag != 0 ? a.expertNum : std::numeric_limits<int32_t>::max());
    if (a.dropPadMode == 1) {
        const at::Tensor places = rows_by_capacity(routing, a.expertCapacity);
        write(a.expandedRowIdx, rows_of_copies(routing, places));
        if (a.expertTokensBeforeCapacityFlag) write(a.expertTokensBeforeCapacity, routing.counts());
        return {routing.own_order(), routing.own_experts(), places, a.expertNum * a.expertCapacity};
    }
    write(a.expandedRowIdx, places_in(routing.order));
    if (flag != 0) write_counts(routing, flag == 1 ? 0 : 1, a.expertTokensCountOrCumsum);
    return {routing.order.narrow(0, 0, rows), routing.experts.narrow(0, 0, rows), {}, rows};
}

// Writes the order of all copies by their experts; copy j of token i has the number j * tokens + i.
at::Tensor write_order(const at::Tensor& row_idx, const at::Tensor& expert_idx, const at::Tensor& rows_out, const at::Tensor& experts_out) {
    const Sorted by_expert = sorted(expert_idx.flatten());
    const at::Tensor copies = row_idx.to(at::kLong).flatten().index_select(0, by_expert.order);
    write(rows_out, places_in(copies));
    write(experts_out, by_expert.values);
    return copies;
}
Expected first_rows(const at::Tensor& x, const at::Tensor& expert_idx, int64_t active) {
    return shape({std::min(active, x.size(0)) * expert_idx.size(1), x.size(1)});
}
at::Tensor rows_of_active(const at::Tensor& x, const at::Tensor& copies, int64_t rows) {
    return x.index_select(0, copies.narrow(0, 0, rows).remainder(std::max<int64_t>(x.size(0), 1)));
}

}  // namespace

static void compute(const call::MoeInitRoutingQuant& a) {
    const at::Tensor copies = write_order(a.rowIdx, a.expertIdx, a.expandedRowIdx, a.expandedExpertIdx);
    write_rounded(a.expandedX, to_double(rows_of_active(a.x, copies, a.expandedX.size(0))) * a.scale + a.offset);
}
static void compute(const call::MoeInitRoutingV2& a) {
    const KeptCopies kept = kept_copies(a);
    write(a.expandedX, kept.in_place(rows_of(a.x, kept.copies, a.expertIdx.size(1))));
}
// The rows become INT8, with one scale and offset (0), or with a scale for each row (1).
static void compute(const call::MoeInitRoutingQuantV2& a) {
    const KeptCopies kept = kept_copies(a);
    const OptTensor scales = at::empty({kept.copies.numel()}, at::kDouble);
    const at::Tensor rows = rows_of(a.x, kept.copies, a.expertIdx.size(1));
    write_rounded(a.expandedX, kept.in_place(quantised(rows, a.quantMode, a.scale, a.offset, kept.experts, scales)));
    if (a.quantMode == 1) write(a.expandedScale, kept.in_place(*scales));
}
// Routes to a range of the experts. Rows of the output behind the last copy of a token are not written.
static void compute(const call::MoeInitRoutingV3& a) {
    const int64_t k = a.expertIdx.size(1);
    const Routing routing(a.expertIdx, a.activeExpertRange[0], a.activeExpertRange[1]);
    if (a.expertTokensNumFlag) write_counts(routing, a.expertTokensNumType, a.expertTokensCountOrCumsum);
    if (a.dropPadMode == 1) {
        const at::Tensor rows = rows_by_capacity(routing, a.expertCapacity);
        write(a.expandedX, padded(rows_of(a.x, routing.own_order(), k), rows, a.expertNum * a.expertCapacity));
        write(a.expandedRowIdx, rows_of_copies(routing, rows));
        if (given(a.scale)) write(a.expandedScale, padded(rows_of(*a.scale, routing.own_order(), k), rows, a.expertNum * a.expertCapacity));
        return;
    }
    write(a.expandedRowIdx, a.rowIdxType == 1 ? routing.order : rows_of_copies(routing, at::arange(routing.copies, at::kLong)));
    const int64_t rows = std::min(routing.copies, a.expandedX.size(0));
    const at::Tensor copies = routing.order.narrow(0, 0, rows), experts = routing.experts.narrow(0, 0, rows) - routing.first;
    at::Tensor place = a.expandedX.narrow(0, 0, rows);
    write_rounded(place, quantised(rows_of(a.x, copies, k), a.quantMode, a.scale, a.offset, experts, a.expandedScale));
    if (a.quantMode < 0 && given(a.scale) && a.expandedScale) a.expandedScale->narrow(0, 0, rows).copy_(rows_of(*a.scale, copies, k));
}

// The result counts the rows that go to an expert or to one before it.
static void compute(const call::MoeComputeExpertTokens& a) {
    const at::Tensor experts = a.sortedExperts.to(at::kLong).contiguous();
    write(a.out, at::searchsorted(experts, at::arange(a.numExperts, at::kLong), false, /*right=*/true));
}
