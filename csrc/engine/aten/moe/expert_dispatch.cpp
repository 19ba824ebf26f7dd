// Tokens on their way to experts of other ranks (npu_moe_distribute_dispatch).

#include "engine/aten/moe/expert_parallel.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/moe/expert_dispatch_calls.h"

namespace {

constexpr int64_t kInfoOfRow = 128;  // bytes that tell combine a row's rank, token and choice, with room left

struct SentRows {
    at::Tensor numbers, scales;
};
SentRows sent_rows(const at::Tensor& x, const OptTensor& scales, int64_t quant_mode, const at::Tensor& copies, const at::Tensor& slots,
                   const Experts& experts) {
    const at::Tensor tokens = copies.floor_divide(slots.size(1)), rows = x.index_select(0, tokens);
    if (quant_mode == 0) return {rows, given(scales) ? scales->index_select(0, tokens) : at::Tensor()};
    at::Tensor numbers = to_double(rows);
    if (given(scales)) {  // a row for each expert, those of the shared ones first
        const at::Tensor slot = slots.flatten().index_select(0, copies).clamp_min(0), chosen = slot - experts.shared_ranks + experts.shared;
        const at::Tensor shared = slot.floor_divide(std::max<int64_t>(experts.shared > 0 ? experts.shared_copies() : 1, 1));
        numbers = numbers * to_double(scales->index_select(0, at::where(slot.lt(experts.shared_ranks), shared, chosen)));
    }
    const DynamicallyQuantised result = quantise_rows(numbers, 127);
    return {at::round(result.numbers).to(at::kChar), result.scale.to(at::kFloat)};
}

// Writes the rows that came, and does not change those behind them.
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
// Returns for each received row the rank and token that it comes from, and which of the token's copies it is.
at::Tensor origins(const Exchange& exchange, const Experts& experts, int64_t columns) {
    const at::Tensor& copies = exchange.copies();
    const at::Tensor own = at::stack({at::full_like(copies, experts.rank), copies.floor_divide(columns), copies.remainder(columns)}, 1);
    return exchange.to_experts(own);
}

// Writes for each copy of a token how many earlier copies of this rank go to the same expert.
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

void require_dispatch(OperationKind kind, const auto& a) {
    const Experts experts = experts_of(a);
    const int64_t least = experts.most_rows(global_tokens(experts, a.expertIds, a.globalBs), a.expertIds.size(1));
    require_expected("expandX", a.expandX, rows_from(least));
    a.groupEp->set_record(kind, a.x.scalar_type(), a.x.size(1));
}

// A dispatch in two parts hands over a row for each copy of a token, sent or not, with the scale of a quantised one behind its numbers.
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
OrEmpty<> scales_for(const OptTensor& scales, const at::Tensor& x, const Experts& experts, int64_t quant_mode) {
    if (quant_mode != 0) return or_empty(shape({experts.shared + experts.chosen, x.size(1)}));
    return or_empty(given(scales) ? with_size(scales->sizes(), 0, x.size(0)) : one_value());
}
IfWanted<> scales_of_rows(const OptTensor& scales, const at::Tensor& expand_x, int64_t quant_mode) {
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

static void compute(const call::MoeDistributeDispatch& a) {
    const Experts experts = experts_of(a);
    const at::Tensor slots = slots_of(a.expertIds, a.xActiveMask, experts, a.zeroExpertNum + a.copyExpertNum + a.constExpertNum);
    const Exchange exchange(*a.groupEp, experts, slots);
    const int64_t columns = slots.size(1), k = a.expertIds.size(1), known = exchange.counts().numel();
    receive(exchange, sent_rows(a.x, a.scales, a.quantMode, exchange.copies(), slots, experts), a.expandX, a.dynamicScales);
    if (given(a.expertScales)) {
        const at::Tensor padded = at::constant_pad_nd(*a.expertScales, {0, columns - k}, 1);
        write_rows(a.expandScales, exchange.to_experts(padded.flatten().index_select(0, exchange.copies())));
    }
    write_token_nums(a.expertTokenNums, exchange, a.expertTokenNumsType);
    a.epRecvCounts.zero_().narrow(0, 0, known).copy_(at::cumsum(exchange.counts().flatten(), 0));
    a.tpRecvCounts.fill_(exchange.received());
    const at::Tensor info = origins(exchange, experts, columns);
    if (a.expandIdx.defined())
        write_index(a.expandIdx, slots, k);
    else
        write_info(a.assistInfoForCombine, info);
}
static void compute(const call::MoeDistributeDispatchSetup& a) {
    const Experts experts = experts_of(a);
    const at::Tensor slots = slots_of(a.expertIds, a.xActiveMask, experts, 0), all = at::arange(slots.numel(), at::kLong);
    const SentRows rows = sent_rows(a.x, a.quantMode == 0 ? std::nullopt : a.scales, a.quantMode, all, slots, experts);
    pack(a.y, a.commCmdInfo, slots, rows, a.x.size(1));
    write_index(a.expandIdx, slots, a.expertIds.size(1));
}
static void compute(const call::MoeDistributeDispatchTeardown& a) {
    const Experts experts = experts_of(a);
    const at::Tensor slots = unpacked_slots(a.commCmdInfo, a.expertIds, experts);
    const Exchange exchange(*a.groupEp, experts, slots);
    receive(exchange, unpack(a.y, exchange.copies(), a.x.size(1), a.quantMode), a.expandX, a.dynamicScales);
    write_info(a.assistInfoForCombine, origins(exchange, experts, slots.size(1)));
    write_token_nums(a.expertTokenNums, exchange, a.expertTokenNumsType);
}
