// Layers whose experts are spread over ranks: which rank has which expert, and the rows of tokens on their way to experts and back.
#pragma once

#include "engine/aten/adapter/collective.h"
#include "engine/aten/numerics/groups.h"

namespace torch_aclnn::host::aten {

// The first ranks have copies of the shared experts, the others the experts that tokens choose. Slots number both: one for each copy of a
// shared expert, and then the chosen ones; so those of a rank lie side by side.
struct Experts {
    int64_t ranks, rank, chosen, shared, shared_ranks;

    int64_t on_a_rank() const { return chosen / (ranks - shared_ranks); }
    int64_t slots() const { return shared_ranks + chosen; }
    int64_t first_slot(int64_t of_rank) const {
        return of_rank < shared_ranks ? of_rank : shared_ranks + (of_rank - shared_ranks) * on_a_rank();
    }
    int64_t own_slots() const { return first_slot(rank + 1) - first_slot(rank); }
    int64_t shared_copies() const { return shared_ranks / shared; }  // copies of each shared expert
    // The copies of tokens of this rank go to the same copy of each shared expert.
    int64_t shared_slot(int64_t expert) const { return expert * shared_copies() + rank % shared_copies(); }
    // The most rows that this rank can receive, where all ranks together have `global_bs` tokens with `k` experts each.
    int64_t most_rows(int64_t global_bs, int64_t k) const;
};

constexpr int64_t aligned(int64_t size, int64_t step) {
    return (size + step - 1) / step * step;
}

// Makes Experts of the arguments that all operators of such a layer have; 161002 if they do not fit each other or the communicator.
Experts experts_of(const Collective& group, int64_t ranks, int64_t rank, int64_t chosen, int64_t shared, int64_t shared_ranks);
Experts experts_of(const auto& a) {
    return experts_of(*a.groupEp, a.epWorldSize, a.epRankId, a.moeExpertNum, a.sharedExpertNum, a.sharedExpertRankNum);
}

// Returns the number of tokens on all ranks: `given`, or as many on each as here.
int64_t global_tokens(const Experts& experts, const at::Tensor& expert_ids, int64_t given);

// Returns the slot of each of a token's copies {tokens, k + shared experts}, or -1 for those that are not sent: because of a mask, or for
// one of the `special` experts behind the chosen ones, which compute nothing.
at::Tensor slots_of(const at::Tensor& expert_ids, const OptTensor& mask, const Experts& experts, int64_t special);

// Moves rows between the ranks of tokens and those of experts.
class Exchange {
   public:
    // Tells the ranks which slots this rank's copies of tokens go to.
    Exchange(const Collective& group, const Experts& experts, const at::Tensor& slots);

    // The copies that this rank sends, in the order of the slots.
    const at::Tensor& copies() const { return copies_; }
    // How many rows come to each slot of this rank from each rank, {slots, ranks}.
    const at::Tensor& counts() const { return counts_; }
    int64_t received() const { return by_rank_.numel(); }

    // Sends the rows of the copies, and returns those that come, in the order of the slots and then of the ranks.
    at::Tensor to_experts(const at::Tensor& rows) const;
    // Sends rows in that order back, and returns those that come, in the order of copies().
    at::Tensor to_tokens(const at::Tensor& rows) const;

   private:
    const Collective& group_;
    std::vector<int64_t> sent_, received_;
    at::Tensor copies_, counts_;
    at::Tensor by_slot_, by_rank_;  // by_slot_: for each row in the order of slots its row in that of ranks; by_rank_: the reverse
};

}  // namespace torch_aclnn::host::aten
