// Tokens in the order of their experts and back, for layers that are a mixture of experts (Megatron's permute and unpermute).
//
// `sortedIndices` says where each copy of a token went: copy j of token i, i * topK + j of all, is row sortedIndices[i * topK + j].

#include "engine/aten/moe/expert_permutation.h"
#include "vocabulary/moe/expert_permutation_calls.h"

// No two copies have the same place; dropped copies have places behind the rows.
static at::Tensor kept_places(const at::Tensor& places, int64_t rows) {
    require_indices("sortedIndices", places, places.numel());
    return places.to(at::kLong).flatten().clamp_max(rows);
}

static at::Tensor rows_or_zeros(const at::Tensor& rows, const at::Tensor& places) {
    return at::cat({rows, rows.new_zeros({1, rows.size(1)})}).index_select(0, kept_places(places, rows.size(0)));
}

// Puts each copy into its row; dropped ones go nowhere.
static at::Tensor rows_at(const at::Tensor& copies, const at::Tensor& places, int64_t rows) {
    const at::Tensor all = copies.new_zeros({rows + 1, copies.size(1)});
    return all.index_copy(0, kept_places(places, rows), copies).narrow(0, 0, rows);
}

static int64_t copies_of_each(const at::Tensor& sorted_indices, int64_t tokens) {
    return tokens == 0 ? 0 : sorted_indices.numel() / tokens;
}

// How many rows remain: 0 and negative numbers count from all.
static int64_t remaining_rows(const at::Tensor& indices, int64_t wanted) {
    return wanted > 0 ? std::min(wanted, indices.numel()) : std::max<int64_t>(indices.numel() + wanted, 0);
}

static at::Tensor weighted(const at::Tensor& rows, const at::Tensor& probabilities) {
    return rows * upcast(probabilities).reshape({-1, 1});
}

// Returns, for a routing map {tokens, experts}, the token of each row of the permuted tokens, expert by expert.
static at::Tensor tokens_by_expert(const at::Tensor& map) {
    const at::Tensor tokens = at::arange(map.size(0), at::kLong).expand({map.size(1), map.size(0)});
    return tokens.masked_select(map.to(at::kBool).t());
}
// Returns the token of each row where every expert has `capacity` rows, expert by expert: first the tokens that the map chooses.
static at::Tensor tokens_by_capacity(const at::Tensor& map, int64_t capacity) {
    return std::get<1>(at::sort(map.to(at::kBool).t().contiguous(), /*stable=*/true, -1, /*descending=*/true))
        .narrow(1, 0, capacity)
        .flatten();
}
static at::Tensor expert_of_rows(int64_t rows, int64_t experts) {
    return at::arange(rows, at::kLong).floor_divide(std::max<int64_t>(rows / std::max<int64_t>(experts, 1), 1));
}

static void require_chosen(const at::Tensor& tokens, int64_t rows) {
    if (tokens.size(0) != rows) refuse("routingMap", c10::str(rows, " chosen tokens"), std::to_string(tokens.size(0)));
}

// Puts values, which are sorted by expert, into a tensor of {tokens, experts}, with 0 where an expert was not chosen.
static at::Tensor to_map(const at::Tensor& values, const at::Tensor& map) {
    const at::Tensor by_expert = at::zeros({map.size(1), map.size(0)}, values.options());
    return by_expert.masked_scatter(map.to(at::kBool).t(), values).t();
}

static void require_map(const at::Tensor& map) {
    require_size({"routingMap", map}, 1, 1);
}
static void require_map(const OptTensor& map) {
    require_given("routingMap", map, "a tensor, as the engine needs it to know the experts");
    require_map(*map);
}

static void compute(const call::MoeTokenPermute& a) {
    const at::Tensor order = at::argsort(a.indices.flatten(), /*stable=*/true, 0, false);
    const int64_t copies = std::max<int64_t>(copies_of_each(a.indices, a.tokens.size(0)), 1);
    write(a.permuteTokensOut, a.tokens.index_select(0, order.narrow(0, 0, a.permuteTokensOut.size(0)).floor_divide(copies)));
    write(a.sortedIndicesOut, at::argsort(order));
}
static void compute(const call::MoeTokenPermuteGrad& a) {
    const at::Tensor copies = rows_or_zeros(upcast(a.permutedOutputGrad), a.sortedIndices);
    write(a.out, copies.unflatten(0, at::IntArrayRef{a.out.size(0), a.numTopk}).sum(1));
}
static void compute(const call::MoeTokenUnpermute& a) {
    at::Tensor copies = rows_or_zeros(upcast(a.permutedTokens), a.sortedIndices);
    if (given(a.probs)) copies = weighted(copies, *a.probs);
    write(a.out, copies.unflatten(0, at::IntArrayRef{a.out.size(0), copies_of_each(a.sortedIndices, a.out.size(0))}).sum(1));
}
static void compute(const call::MoeTokenUnpermuteGrad& a) {
    const int64_t copies = copies_of_each(a.sortedIndices, a.unpermutedTokensGrad.size(0));
    const at::Tensor grad = upcast(a.unpermutedTokensGrad).repeat_interleave(copies, 0);
    write(a.permutedTokensGradOut,
          rows_at(given(a.probs) ? weighted(grad, *a.probs) : grad, a.sortedIndices, a.permutedTokensGradOut.size(0)));
    if (given(a.probs)) write(a.probsGradOut, (grad * rows_or_zeros(upcast(*a.permutedTokens), a.sortedIndices)).sum(1));
}

// Takes a map of {tokens, experts} in place of indices. With dropAndPad each expert has the same number of tokens.
static void compute(const call::MoeTokenPermuteWithRoutingMap& a) {
    const int64_t rows = a.permuteTokensOut.size(0), experts = a.routingMap.size(1);
    const at::Tensor chosen = a.dropAndPad ? tokens_by_capacity(a.routingMap, a.numOutTokens / experts) : tokens_by_expert(a.routingMap);
    require_chosen(chosen, rows);
    write(a.permuteTokensOut, a.tokens.index_select(0, chosen));
    write(a.sortedIndicesOut, a.dropAndPad ? chosen : at::argsort(chosen, /*stable=*/true, 0, false));
    if (!given(a.probs)) return;
    write(a.permuteProbsOut, a.dropAndPad ? a.probs->index({chosen, expert_of_rows(rows, experts)})
                                          : a.probs->t().masked_select(a.routingMap.to(at::kBool).t()));
}
static void compute(const call::MoeTokenPermuteWithRoutingMapGrad& a) {
    const at::Tensor chosen = a.dropAndPad ? a.sortedIndices.to(at::kLong).flatten() : tokens_by_expert(a.routingMap);
    const int64_t rows = a.permutedTokenOutputGrad.size(0);
    require_chosen(chosen, rows);
    const at::Tensor grad = upcast(a.permutedTokenOutputGrad);
    write(a.tokensGradOut, grad.new_zeros({a.tokensNum, grad.size(1)}).index_add(0, chosen, grad));
    if (!given(a.permutedProbsOutputGrad)) return;
    const at::Tensor none = a.permutedProbsOutputGrad->new_zeros({a.tokensNum, a.expertsNum});
    write(a.probsGradOut, a.dropAndPad ? none.index_put({chosen, expert_of_rows(rows, a.expertsNum)}, *a.permutedProbsOutputGrad)
                                       : to_map(*a.permutedProbsOutputGrad, a.routingMap));
}
static void compute(const call::MoeTokenUnpermuteWithRoutingMap& a) {
    const at::Tensor map = a.routingMap->to(at::kBool), places = a.sortedIndices.to(at::kLong).flatten(), rows = upcast(a.permutedTokens);
    const int64_t tokens = a.unpermutedTokens.size(0), experts = map.size(1);
    if (a.paddedMode) {
        at::Tensor used = rows;
        if (given(a.probs)) {
            const at::Tensor chosen = a.probs->index({places, expert_of_rows(places.numel(), experts)});
            used = weighted(rows, chosen);
            write(a.permuteProbs, chosen);
        }
        write(a.unpermutedTokens, rows.new_zeros({tokens, rows.size(1)}).index_add(0, places, used));
        write_each(at::sort(places, /*stable=*/true, 0, false), a.permuteTokenId, a.outIndex);
        return;
    }
    at::Tensor copies = rows_or_zeros(rows, places);
    if (given(a.probs)) {
        const at::Tensor chosen = a.probs->masked_select(map);
        require_chosen(chosen, copies.size(0));
        copies = weighted(copies, chosen);
        write(a.permuteProbs, chosen);
    }
    const int64_t each = std::max<int64_t>(copies_of_each(a.sortedIndices, tokens), 1);
    write(a.unpermutedTokens, copies.unflatten(0, at::IntArrayRef{tokens, each}).sum(1));
    write(a.outIndex, places);
    write(a.permuteTokenId, at::arange(places.numel(), at::kLong).floor_divide(each));
}
// Without padding `outIndex` is `sortedIndices`, from which the tokens follow.
static void compute(const call::MoeTokenUnpermuteWithRoutingMapGrad& a) {
    const at::Tensor map = a.routingMap->to(at::kBool), places = a.outIndex.to(at::kLong).flatten();
    const int64_t tokens = a.unpermutedTokensGrad.size(0), rows = places.numel(), experts = map.size(1);
    const int64_t each = std::max<int64_t>(copies_of_each(places, tokens), 1);
    const at::Tensor ids = a.paddedMode ? a.permuteTokenId.to(at::kLong).flatten() : at::arange(rows, at::kLong).floor_divide(each);
    const at::Tensor grad = rows_at(upcast(a.unpermutedTokensGrad).index_select(0, ids), places, rows);
    if (!given(a.probs)) return write(a.permutedTokensGradOut, grad);
    const at::Tensor row_of_token = at::empty_like(places).index_copy(0, places, ids);  // the token of each row
    const at::Tensor chosen =
        a.paddedMode ? a.probs->index({row_of_token, expert_of_rows(rows, experts)}) : a.probs->t().masked_select(map.t());
    require_chosen(chosen, rows);
    write(a.permutedTokensGradOut, weighted(grad, chosen));
    if (!a.permutedTokens) return;
    const at::Tensor of_probs = (grad * upcast(*a.permutedTokens)).sum(1);
    write(a.probsGradOut, a.paddedMode
                              ? of_probs.new_zeros({tokens, experts}).index_put({row_of_token, expert_of_rows(rows, experts)}, of_probs)
                              : to_map(of_probs, map));
}
