// Tokens on their way to experts of other ranks (npu_moe_distribute_dispatch).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/expert_parallel.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "mixture of experts"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;

int64_t read_dispatch_quant_mode(const char* name, int64_t mode) {
    if (mode != 0 && mode != 2) refuse(name, "0, or 2 for a scale of each token: the engine has no other", std::to_string(mode));
    return mode;
}

constexpr int64_t kInfoOfRow = 128;  // what combine is told of a row: its rank, token and choice, and room

// Copies of tokens as they are sent, and what goes with them.
struct SentRows {
    at::Tensor numbers, scales;
};
SentRows sent_rows(const at::Tensor& x, const OptTensor& scales, int64_t quant_mode, const at::Tensor& copies, const at::Tensor& slots,
                   const Experts& experts) {
    const at::Tensor tokens = copies.floor_divide(slots.size(1)), rows = x.index_select(0, tokens);
    if (quant_mode == 0) return {rows, given(scales) ? scales->index_select(0, tokens) : at::Tensor()};
    at::Tensor numbers = to_double(rows);
    if (given(scales)) {  // each expert's, those of the shared ones first
        const at::Tensor slot = slots.flatten().index_select(0, copies).clamp_min(0), chosen = slot - experts.shared_ranks + experts.shared;
        const at::Tensor shared = slot.floor_divide(std::max<int64_t>(experts.shared > 0 ? experts.shared_copies() : 1, 1));
        numbers = numbers * to_double(scales->index_select(0, at::where(slot.lt(experts.shared_ranks), shared, chosen)));
    }
    const DynamicallyQuantised result = quantise_rows(numbers, 127);
    return {at::round(result.numbers).to(at::kChar), result.scale.to(at::kFloat)};
}

// Writes the rows that came, and leaves the others.
void write_rows(at::Tensor& out, const at::Tensor& rows) {
    if (rows.size(0) > out.size(0))
        refuse("expertIds", c10::str("at most ", out.size(0), " copies of tokens for this rank"), std::to_string(rows.size(0)));
    out.narrow(0, 0, rows.size(0)).copy_(rows);
}

void write_token_nums(at::Tensor& out, const Exchange& exchange, int64_t type) {
    const at::Tensor numbers = exchange.counts().sum(1);
    write(out, type == 0 ? at::cumsum(numbers, 0) : numbers);
}

void receive(const Exchange& exchange, const SentRows& rows, at::Tensor& out, at::Tensor& scales_out) {
    write_rows(out, exchange.to_experts(rows.numbers));
    if (rows.scales.defined()) write_rows(scales_out, exchange.to_experts(rows.scales));
}
// Of the rows that came, the rank, the token, and which of its copies it was.
at::Tensor origins(const Exchange& exchange, const Experts& experts, int64_t columns) {
    const at::Tensor& copies = exchange.copies();
    const at::Tensor own = at::stack({at::full_like(copies, experts.rank), copies.floor_divide(columns), copies.remainder(columns)}, 1);
    return exchange.to_experts(own);
}

struct DispatchedTokens {
    const at::Tensor &x, &expert_ids;
    const OptTensor &scales, &mask, &weights;
    int64_t quant_mode, special;
};
struct DispatchResults {
    at::Tensor &x, &scales, &token_nums, &recv_counts, &tp_recv_counts, &weights;
    int64_t token_nums_type;
};

// Returns where the tokens go, and what combine needs to know of the rows that came.
struct Dispatched {
    at::Tensor slots, info;
};
Dispatched dispatch(const Collective& group, const Experts& experts, const DispatchedTokens& sent, DispatchResults wanted) {
    const at::Tensor slots = slots_of(sent.expert_ids, sent.mask, experts, sent.special);
    const Exchange exchange(group, experts, slots);
    const int64_t columns = slots.size(1), k = sent.expert_ids.size(1);
    receive(exchange, sent_rows(sent.x, sent.scales, sent.quant_mode, exchange.copies(), slots, experts), wanted.x, wanted.scales);
    if (given(sent.weights)) {
        const at::Tensor padded = at::constant_pad_nd(*sent.weights, {0, columns - k}, 1);
        write_rows(wanted.weights, exchange.to_experts(padded.flatten().index_select(0, exchange.copies())));
    }
    write_token_nums(wanted.token_nums, exchange, wanted.token_nums_type);
    const int64_t known = exchange.counts().numel();
    wanted.recv_counts.zero_().narrow(0, 0, known).copy_(at::cumsum(exchange.counts().flatten(), 0));
    wanted.tp_recv_counts.fill_(exchange.received());
    return {slots, origins(exchange, experts, columns)};
}

// How many copies of this rank's tokens go to the same expert before a copy.
void write_index(const at::Tensor& out, const at::Tensor& slots, int64_t k) {
    const at::Tensor chosen = slots.narrow(1, 0, k).flatten(), order = at::argsort(chosen, /*stable=*/true, 0, false);
    const at::Tensor sorted = chosen.index_select(0, order), places = at::arange(sorted.numel(), at::kLong);
    const at::Tensor within = places - at::searchsorted(sorted, sorted);
    write(out, at::zeros_like(within).scatter(0, order, within));
}
void write_info(const at::Tensor& out, const at::Tensor& info) {
    out.fill_(-1);
    const at::Tensor rows = out.flatten().narrow(0, 0, info.size(0) * kInfoOfRow).view({info.size(0), kInfoOfRow});
    rows.narrow(1, 0, info.size(1)).copy_(info);
}

void require_tokens(const at::Tensor& x, const at::Tensor& expert_ids) {
    if (x.dim() != 2 || x.size(0) != expert_ids.size(0))
        refuse("x", c10::str("2 dimensions, and ", expert_ids.size(0), " rows like expertIds"), shape_text(x.sizes()));
}
void require_dispatch(OperationKind kind, const std::shared_ptr<Collective>& group, const Experts& experts, const at::Tensor& x,
                      const at::Tensor& expert_ids, int64_t global_bs, const at::Tensor& expand_x) {
    const int64_t least = experts.most_rows(global_tokens(experts, expert_ids, global_bs), expert_ids.size(1));
    require_tokens(x, expert_ids);
    if (expand_x.dim() != 2 || expand_x.size(0) < least)
        refuse("expandX", c10::str("2 dimensions, and rows for the ", least, " copies that may come"), shape_text(expand_x.sizes()));
    group->set_record(kind, x.scalar_type(), x.size(1));
}

// Copies of tokens between the two parts of a dispatch: a row for each, sent or not, and the scale of a quantised one behind its numbers.
int64_t scale_column(int64_t features) {
    return aligned(features, 32);
}
Expected packed_rows(const at::Tensor& x, const at::Tensor& expert_ids, int64_t shared, int64_t quant_mode) {
    const int64_t features = x.size(1), copies = x.size(0) * (expert_ids.size(1) + shared);
    if (quant_mode == 0) return {at::IntArrayRef{copies, aligned(aligned(features * 2, 32), 512) / 2}, x.scalar_type()};
    return {at::IntArrayRef{copies, aligned(scale_column(features) + 4, 512)}, at::kChar};
}
Expected packed_slots(const at::Tensor& expert_ids, int64_t shared, const Experts& experts) {
    return shape({(expert_ids.size(0) * (expert_ids.size(1) + shared) + experts.ranks * experts.own_slots()) * 16});
}
void pack(at::Tensor& y, at::Tensor& info, const at::Tensor& slots, const SentRows& rows, int64_t features) {
    y.zero_();
    const at::Tensor used = y.narrow(0, 0, slots.numel());
    used.narrow(1, 0, features).copy_(rows.numbers);
    if (rows.scales.defined()) used.narrow(1, scale_column(features), 4).copy_(rows.scales.unsqueeze(1).view(at::kChar));
    info.fill_(-1).narrow(0, 0, slots.numel()).copy_(slots.flatten());
}
SentRows unpack(const at::Tensor& y, const at::Tensor& copies, int64_t features, int64_t quant_mode) {
    const at::Tensor rows = y.index_select(0, copies), numbers = rows.narrow(1, 0, features);
    if (quant_mode == 0) return {numbers, {}};
    return {numbers, rows.narrow(1, scale_column(features), 4).contiguous().view(at::kFloat).flatten()};
}
at::Tensor unpacked_slots(const at::Tensor& info, const at::Tensor& expert_ids, const Experts& experts) {
    const int64_t tokens = expert_ids.size(0), columns = expert_ids.size(1) + experts.shared;
    const at::Tensor slots = info.narrow(0, 0, tokens * columns).to(at::kLong).view({tokens, columns});
    if (slots.numel() > 0 && (slots.min().item<int64_t>() < -1 || slots.max().item<int64_t>() >= experts.slots()))
        refuse("commCmdInfo", "what aclnnMoeDistributeDispatchSetup wrote", "other numbers");
    return slots;
}

// A row for each token, or for each expert.
OrEmpty scales_for(const OptTensor& scales, const at::Tensor& x, const Experts& experts, int64_t quant_mode) {
    if (quant_mode != 0) return or_empty(shape({experts.shared + experts.chosen, x.size(1)}));
    return or_empty(given(scales) ? with_size(scales->sizes(), 0, x.size(0)) : one_value());
}
IfWanted scales_of_rows(const OptTensor& scales, const at::Tensor& expand_x, int64_t quant_mode) {
    if (quant_mode != 0) return if_wanted(true, shape({expand_x.size(0)}));
    return if_wanted(given(scales), given(scales) ? with_size(scales->sizes(), 0, expand_x.size(0)) : one_value());
}
Either counts_of_ranks(const Experts& experts, const at::Tensor& expert_ids, int64_t global_bs) {
    const int64_t own = experts.own_slots() * experts.ranks, servers = experts.ranks / 8;
    return either(shape({own}), shape({own + 2 * global_tokens(experts, expert_ids, global_bs) * expert_ids.size(1) * servers}));
}
Elements info_of(const at::Tensor& expert_ids, const at::Tensor& expand_x) {
    return elements(std::max(expert_ids.numel(), expand_x.size(0) * kInfoOfRow));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using DispatchQuantMode = Kind<int64_t, int64_t, int64_t, read_dispatch_quant_mode>;
}  // namespace torch_aclnn::host::aten::kind

#define DISPATCHED                                                                             \
    (In, x), (Indices, expertIds), (OptIn, scales, scales_for(scales, x, EXPERTS, quantMode)), \
        (OptIn, xActiveMask, either(shape({expertIds.size(0)}), shaped_like(expertIds))), (OptIn, expertScales, shaped_like(expertIds))
#define DISPATCH_ATTRIBUTES \
    EXPERT_RANKS, TENSOR_RANKS, SHARED_EXPERTS, (DispatchQuantMode, quantMode), (Int32Count, globalBs), (TrueOrNot, expertTokenNumsType)
#define RECEIVED                                                                                          \
    (Out, expandX, Expected({expandX.size(0), x.size(1)}, quantMode == 0 ? x.scalar_type() : at::kChar)), \
        (Out, dynamicScales, scales_of_rows(scales, expandX, quantMode))
#define RECEIVED_COUNTS                                                                                                              \
    (IndicesOut, expertTokenNums, shape({EXPERTS.own_slots()})), (Out, epRecvCounts, counts_of_ranks(EXPERTS, expertIds, globalBs)), \
        (Out, tpRecvCounts, shape({tpWorldSize})), (Out, expandScales, if_wanted(given(expertScales), shape({expandX.size(0)})))
#define REQUIRE_DISPATCH require_dispatch(OperationKind::moe_distribute_dispatch, groupEp, EXPERTS, x, expertIds, globalBs, expandX)
#define DISPATCH(special)                                                                              \
    dispatch(*groupEp, EXPERTS, {x, expertIds, scales, xActiveMask, expertScales, quantMode, special}, \
             {expandX, dynamicScales, expertTokenNums, epRecvCounts, tpRecvCounts, expandScales, expertTokenNumsType})

ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatch, FLOAT16 | BF16, REQUIRE_DISPATCH, DISPATCHED, DISPATCH_ATTRIBUTES, RECEIVED,
                   (Out, expandIdx, shape({expertIds.numel()})), RECEIVED_COUNTS) {
    write_index(expandIdx, DISPATCH(0).slots, expertIds.size(1));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatchV2, FLOAT16 | BF16 | INT32, REQUIRE_DISPATCH, DISPATCHED, DISPATCH_ATTRIBUTES,
                   (CommAlg, commAlg), RECEIVED, (Out, assistInfoForCombine, info_of(expertIds, expandX)), RECEIVED_COUNTS) {
    write_info(assistInfoForCombine, DISPATCH(0).info);
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatchV3, FLOAT16 | BF16 | INT32, (REQUIRE_DISPATCH, require_not_given("elasticInfo", elasticInfo)),
                   DISPATCHED, (OptIn, elasticInfo), DISPATCH_ATTRIBUTES, (CommAlg, commAlg), SPECIAL_EXPERTS, RECEIVED,
                   (Out, assistInfoForCombine, info_of(expertIds, expandX)), RECEIVED_COUNTS) {
    write_info(assistInfoForCombine, DISPATCH(zeroExpertNum + copyExpertNum + constExpertNum).info);
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatchV4, FLOAT16 | BF16 | INT32,
                   (REQUIRE_DISPATCH, require_not_given("elasticInfo", elasticInfo), require_not_given("performanceInfo", performanceInfo)),
                   DISPATCHED, (OptIn, elasticInfo), (OptIn, performanceInfo), DISPATCH_ATTRIBUTES, (CommAlg, commAlg), SPECIAL_EXPERTS,
                   RECEIVED, (Out, assistInfoForCombine, info_of(expertIds, expandX)), RECEIVED_COUNTS) {
    write_info(assistInfoForCombine, DISPATCH(zeroExpertNum + copyExpertNum + constExpertNum).info);
}

#define DISPATCH_IN_PARTS EXPERT_RANKS, SHARED_EXPERTS, (DispatchQuantMode, quantMode), (Int32Count, globalBs)
ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatchSetup, FLOAT16 | BF16,
                   (global_tokens(EXPERTS, expertIds, globalBs), require_tokens(x, expertIds),
                    groupEp->set_record(OperationKind::moe_distribute_dispatch_setup, x.scalar_type(), x.size(1))),
                   (In, x), (Indices, expertIds), (OptIn, scales, scales_for(scales, x, EXPERTS, quantMode)),
                   (OptIn, xActiveMask, either(shape({expertIds.size(0)}), shaped_like(expertIds))), DISPATCH_IN_PARTS, (Zero, commType),
                   (CommAlg, commAlg), (Out, y, packed_rows(x, expertIds, sharedExpertNum, quantMode)),
                   (Out, expandIdx, shape({expertIds.numel()})), (Out, commCmdInfo, packed_slots(expertIds, sharedExpertNum, EXPERTS))) {
    const at::Tensor slots = slots_of(expertIds, xActiveMask, EXPERTS, 0), all = at::arange(slots.numel(), at::kLong);
    const SentRows rows = sent_rows(x, quantMode == 0 ? std::nullopt : scales, quantMode, all, slots, EXPERTS);
    pack(y, commCmdInfo, slots, rows, x.size(1));
    write_index(expandIdx, slots, expertIds.size(1));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeDispatchTeardown, FLOAT16 | BF16,
                   require_dispatch(OperationKind::moe_distribute_dispatch_teardown, groupEp, EXPERTS, x, expertIds, globalBs, expandX),
                   (In, x), (In, y, packed_rows(x, expertIds, sharedExpertNum, quantMode)), (Indices, expertIds),
                   (Indices, commCmdInfo, packed_slots(expertIds, sharedExpertNum, EXPERTS)), DISPATCH_IN_PARTS,
                   (TrueOrNot, expertTokenNumsType), (Zero, commType), (CommAlg, commAlg),
                   (Out, expandX, Expected({expandX.size(0), x.size(1)}, quantMode == 0 ? x.scalar_type() : at::kChar)),
                   (Out, dynamicScales, if_wanted(quantMode != 0, shape({expandX.size(0)}))),
                   (Out, assistInfoForCombine, elements(expandX.size(0) * kInfoOfRow)),
                   (IndicesOut, expertTokenNums, shape({EXPERTS.own_slots()}))) {
    const at::Tensor slots = unpacked_slots(commCmdInfo, expertIds, EXPERTS);
    const Exchange exchange(*groupEp, EXPERTS, slots);
    receive(exchange, unpack(y, exchange.copies(), x.size(1), quantMode), expandX, dynamicScales);
    write_info(assistInfoForCombine, origins(exchange, EXPERTS, slots.size(1)));
    write_token_nums(expertTokenNums, exchange, expertTokenNumsType);
}
