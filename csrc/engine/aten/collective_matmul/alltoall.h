// Rows and features that each rank sends to each other, for products of matrices before or behind it.
#pragma once

#include "engine/aten/collective_matmul/collective_matmul.h"

namespace torch_aclnn::host::aten {

// {tokens, features} becomes {tokens / ranks, ranks features}: each rank's part of the tokens, with the features of all.
inline at::Tensor features_of_ranks(const RanksGroup& group, const at::Tensor& x1) {
    const int64_t ranks = group->size(), tokens = x1.size(0) / ranks;
    const std::vector<int64_t> parts = equal_parts(group, tokens);
    return group->all_to_all(x1, parts, parts).view({ranks, tokens, x1.size(1)}).permute({1, 0, 2}).reshape({tokens, ranks * x1.size(1)});
}
// Returns the order that sorts rows, which are in the order of ranks and then of experts, by expert and then by rank. `counts` has their
// numbers.
inline at::Tensor order_by_expert(at::IntArrayRef counts, int64_t experts) {
    const at::Tensor numbers = at::tensor(counts, at::kLong);
    const at::Tensor expert = at::arange(numbers.numel(), at::kLong).remainder(std::max<int64_t>(experts, 1));
    return at::argsort(at::repeat_interleave(expert, numbers), /*stable=*/true, 0, false);
}
// How many rows go to each rank, or come from each.
inline std::vector<int64_t> sums_of_ranks(at::IntArrayRef counts, int64_t ranks) {
    std::vector<int64_t> sums(ranks);
    const int64_t experts = static_cast<int64_t>(counts.size()) / ranks;
    for (int64_t i = 0; i < static_cast<int64_t>(counts.size()); i++) sums[i / experts] += counts[i];
    return sums;
}
inline int64_t total(at::IntArrayRef counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Calls `product` for the rows of each expert, which are sorted by expert, and concatenates the results. It gets the expert, the first row
// and the number of rows.
at::Tensor by_each_expert(int64_t experts, at::IntArrayRef counts, int64_t ranks, auto product) {
    std::vector<at::Tensor> products;
    for (int64_t expert = 0, first = 0; expert < experts; expert++) {
        int64_t number = 0;
        for (int64_t rank = 0; rank < ranks; rank++) number += counts[rank * experts + expert];
        products.push_back(product(expert, first, number));
        first += number;
    }
    return at::cat(products);
}

// Refuses counts that differ between ranks: what a rank sends, the others must expect.
inline void require_counts_of_all(const RanksGroup& group, at::IntArrayRef sent, at::IntArrayRef received) {
    const int64_t ranks = group->size(), experts = static_cast<int64_t>(sent.size()) / ranks;
    const at::Tensor own = at::tensor(sent, at::kLong).unsqueeze(0), all = group->all_gather(own);
    const at::Tensor to_this = all.narrow(1, group->rank() * experts, experts).flatten();
    if (!to_this.equal(at::tensor(received, at::kLong)))
        refuse("recvCounts",
               c10::str("the counts that the ranks send, ", at::IntArrayRef(to_this.const_data_ptr<int64_t>(), to_this.numel())),
               c10::str(received));
}

struct SharedProduct {
    const OptTensor &x, &weight, &y;
    bool transpose;
};
inline void require_shared(const SharedProduct& shared) {
    if (given(shared.x) != given(shared.weight))
        refuse_null(given(shared.x) ? "mmWeight" : "mmX", "a tensor, as the other factor is given");
    if (!given(shared.x)) return;
    require_expected("mmX", *shared.x, rank(2));
    require_expected("mmWeight", *shared.weight, factor_of(shared.x->size(1), shared.transpose));
    if (!given(shared.y)) refuse_null("mmY", "a tensor, as there is mmX");
}
inline IfWanted<> shared_shape(const SharedProduct& shared) {
    if (!given(shared.x)) return if_wanted(false, one_value());
    return if_wanted(true, shape({shared.x->size(0), shared.weight->size(shared.transpose ? 0 : 1)}));
}
void prepare_experts(OperationKind kind, const auto& a, const at::Tensor& x, const at::Tensor& weight) {
    require_not_given({{"sendCountsTensor", a.sendCountsTensor}, {"recvCountsTensor", a.recvCountsTensor}});
    const int64_t ranks = a.group->size();
    require_ranks("epWorldSize", a.epWorldSize, *a.group);
    require_expected("gmmX", x, rank(2));
    require_expected("gmmWeight", weight, a.transGmmWeight ? shape({kAny, kAny, x.size(1)}) : shape({kAny, x.size(1), kAny}));
    const int64_t wanted = weight.size(0) * ranks;
    for (const auto& [name, counts] : {std::pair{"sendCounts", a.sendCounts}, std::pair{"recvCounts", a.recvCounts}}) {
        require_count(name, counts.size(), wanted, wanted, wanted);
        require_values(name, counts, 0);
    }
    if (total(a.sendCounts) != x.size(0))
        refuse("sendCounts", c10::str("numbers with the sum ", x.size(0)), std::to_string(total(a.sendCounts)));
    a.group->set_record(kind, x.scalar_type(), x.size(1));
}

// Returns the rows of all ranks for this one's experts, in the order of these.
at::Tensor rows_for_experts(const auto& a, const at::Tensor& x) {
    require_counts_of_all(a.group, a.sendCounts, a.recvCounts);
    const int64_t ranks = a.group->size();
    return a.group->all_to_all(x, sums_of_ranks(a.sendCounts, ranks), sums_of_ranks(a.recvCounts, ranks))
        .index_select(0, order_by_expert(a.recvCounts, a.gmmWeight.sizes()[0]));
}
// Sends rows in that order back to the ranks that they came from.
at::Tensor rows_for_ranks(const auto& a, const at::Tensor& y) {
    require_counts_of_all(a.group, a.sendCounts, a.recvCounts);
    const int64_t ranks = a.group->size();
    const at::Tensor by_rank = at::argsort(order_by_expert(a.sendCounts, a.gmmWeight.sizes()[0]));
    return a.group->all_to_all(y.index_select(0, by_rank), sums_of_ranks(a.sendCounts, ranks), sums_of_ranks(a.recvCounts, ranks));
}

}  // namespace torch_aclnn::host::aten
