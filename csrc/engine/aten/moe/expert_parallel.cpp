#include "engine/aten/moe/expert_parallel.h"

#include <ATen/ATen.h>

#include "engine/aten/adapter/attributes.h"
#include "engine/aten/adapter/relations.h"

namespace torch_aclnn::host::aten {

// Repeats each number as often as its count says.
static at::Tensor repeated(const at::Tensor& numbers, const at::Tensor& counts) {
    return at::repeat_interleave(numbers.expand_as(counts).flatten(), counts.flatten());
}

static at::Tensor stable_order(const at::Tensor& keys) {
    return at::argsort(keys, /*stable=*/true, 0, false);
}

int64_t Experts::most_rows(int64_t global_bs, int64_t k) const {
    if (rank >= shared_ranks) return global_bs * std::min(on_a_rank(), k);
    return global_bs / ranks * ((ranks + shared_copies() - 1) / shared_copies());
}

Experts experts_of(const Collective& group, int64_t ranks, int64_t rank, int64_t chosen, int64_t shared, int64_t shared_ranks) {
    require_ranks("epWorldSize", ranks, group);
    if (rank != group.rank()) refuse("epRankId", c10::str(group.rank(), ", this rank of groupEp"), std::to_string(rank));
    require_between("sharedExpertRankNum", shared_ranks, 0, ranks - 1);
    if (shared_ranks > 0 && (shared == 0 || shared_ranks % shared != 0))
        refuse("sharedExpertNum", c10::str("a divisor of sharedExpertRankNum, ", shared_ranks), std::to_string(shared));
    if (chosen % (ranks - shared_ranks) != 0)
        refuse("moeExpertNum", c10::str("a multiple of ", ranks - shared_ranks, ", the ranks that have such experts"),
               std::to_string(chosen));
    return {ranks, rank, chosen, shared_ranks > 0 ? shared : 0, shared_ranks};
}

int64_t global_tokens(const Experts& experts, const at::Tensor& expert_ids, int64_t given) {
    if (expert_ids.dim() != 2) refuse("expertIds", "2 dimensions", shape_text(expert_ids.sizes()));
    const int64_t least = expert_ids.size(0) * experts.ranks;
    if (given != 0 && (given < least || given % experts.ranks != 0))
        refuse("globalBs", c10::str("0, or a multiple of ", experts.ranks, " from ", least, " on"), std::to_string(given));
    return given == 0 ? least : given;
}

at::Tensor slots_of(const at::Tensor& expert_ids, const OptTensor& mask, const Experts& experts, int64_t special) {
    const at::Tensor ids = expert_ids.to(at::kLong);
    if (ids.numel() > 0 && (ids.min().item<int64_t>() < 0 || ids.max().item<int64_t>() >= experts.chosen + special))
        refuse("expertIds", c10::str("experts from 0 to ", experts.chosen + special - 1),
               c10::str(ids.min().item<int64_t>(), " to ", ids.max().item<int64_t>()));
    at::Tensor active = at::ones_like(ids, at::kBool);
    if (given(mask)) active = (mask->dim() == 1 ? mask->unsqueeze(1) : *mask).to(at::kBool).expand_as(ids);
    const at::Tensor chosen = ids.add(experts.shared_ranks).masked_fill(ids.ge(experts.chosen).logical_or(active.logical_not()), -1);
    std::vector<at::Tensor> columns{chosen};
    const at::Tensor nowhere = active.any(1, /*keepdim=*/true).logical_not();
    for (int64_t expert = 0; expert < experts.shared; expert++)
        columns.push_back(at::full({ids.size(0), 1}, experts.shared_slot(expert), at::kLong).masked_fill(nowhere, -1));
    return at::cat(columns, 1);
}

Exchange::Exchange(const Collective& group, const Experts& experts, const at::Tensor& slots) : group_(group) {
    const at::Tensor flat = slots.flatten(), sent = flat.masked_select(flat.ge(0));
    copies_ = stable_order(flat).narrow(0, flat.numel() - sent.numel(), sent.numel());
    const at::Tensor to_each = at::bincount(sent, {}, experts.slots()), of_all = group.all_gather(to_each.unsqueeze(0));
    for (int64_t rank = 0; rank < experts.ranks; rank++) {
        const int64_t first = experts.first_slot(rank);
        sent_.push_back(to_each.narrow(0, first, experts.first_slot(rank + 1) - first).sum().item<int64_t>());
    }
    const at::Tensor own = of_all.narrow(1, experts.first_slot(experts.rank), experts.own_slots());
    counts_ = own.t().contiguous();
    received_ = numbers(own.sum(1));
    by_slot_ = stable_order(repeated(at::arange(experts.own_slots(), at::kLong), own));
    by_rank_ = stable_order(repeated(at::arange(experts.ranks, at::kLong), counts_));
}

at::Tensor Exchange::to_experts(const at::Tensor& rows) const {
    return group_.all_to_all(rows, sent_, received_).index_select(0, by_slot_);
}

at::Tensor Exchange::to_tokens(const at::Tensor& rows) const {
    return group_.all_to_all(rows.index_select(0, by_rank_), received_, sent_);
}

}  // namespace torch_aclnn::host::aten
