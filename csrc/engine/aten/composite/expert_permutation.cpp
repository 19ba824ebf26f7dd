// Tokens in the order of their experts and back, for layers that are a mixture of experts (Megatron's permute and unpermute).
//
// `sortedIndices` says where each copy of a token went: copy j of token i, i * topK + j of all, is row sortedIndices[i * topK + j].
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/expert_permutation.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "mixture of experts"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

void require_unpadded(const char* name, bool value) {
    if (value) refuse(name, "false: the engine has no padded mode", "true");
}

void require_matrix(const char* name, const at::Tensor& tensor) {
    if (tensor.dim() != 2) refuse(name, "2 dimensions", shape_text(tensor.sizes()));
}

void require_rows(const char* name, const at::Tensor& tensor, int64_t rows) {
    if (tensor.dim() < 1 || tensor.size(0) != rows) refuse(name, c10::str(rows, " rows"), shape_text(tensor.sizes()));
}

void require_multiple(const char* name, const at::Tensor& tensor, int64_t divisor) {
    if (divisor == 0 ? tensor.numel() != 0 : tensor.numel() % divisor != 0)
        refuse(name, c10::str("a multiple of ", divisor, " values"), shape_text(tensor.sizes()));
}

// As many rows as the output has, which nothing else says, with the features of the input.
Expected rows_like(const at::Tensor& out, const at::Tensor& features) {
    return shape({out.dim() == 2 ? out.size(0) : 0, features.size(1)});
}

// Copies of tokens that were dropped have a place behind the last row.
at::Tensor rows_or_zeros(const at::Tensor& rows, const at::Tensor& places) {
    return at::cat({rows, rows.new_zeros({1, rows.size(1)})}).index_select(0, places.to(at::kLong).flatten().clamp_max(rows.size(0)));
}

// Puts each copy into its row; dropped ones nowhere.
at::Tensor rows_at(const at::Tensor& copies, const at::Tensor& places, int64_t rows) {
    const at::Tensor all = copies.new_zeros({rows + 1, copies.size(1)});
    return all.index_copy(0, places.to(at::kLong).flatten().clamp_max(rows), copies).narrow(0, 0, rows);
}

int64_t copies_of_each(const at::Tensor& sorted_indices, int64_t tokens) {
    return tokens == 0 ? 0 : sorted_indices.numel() / tokens;
}

// How many rows remain: 0 and negative numbers count from all.
int64_t remaining_rows(const at::Tensor& indices, int64_t wanted) {
    return wanted > 0 ? std::min(wanted, indices.numel()) : std::max<int64_t>(indices.numel() + wanted, 0);
}

void require_permutation(const at::Tensor& tokens, const at::Tensor& indices, int64_t wanted) {
    require_matrix("tokens", tokens);
    require_rows("indices", indices, tokens.size(0));
    require_between("numOutTokens", wanted, -indices.numel(), std::numeric_limits<int64_t>::max());
}

// The shape of all tokens; callers without padding pass one number.
void require_copies(const at::Tensor& sorted_indices, int64_t tokens, const std::optional<at::Tensor>& probs) {
    require_multiple("sortedIndices", sorted_indices, tokens);
    if (given(probs) && probs->numel() != sorted_indices.numel())
        refuse("probs", c10::str(sorted_indices.numel(), " values, as sortedIndices has"), shape_text(probs->sizes()));
}

// The tokens are needed for the gradient of the probabilities alone.
void require_tokens(const std::optional<at::Tensor>& tokens, const std::optional<at::Tensor>& probs, const at::Tensor& grad) {
    if (!tokens && given(probs)) torch_aclnn::host::refuse_null("permutedTokens", "a tensor, for the gradient of probs");
    require_matrix("permutedTokensGradOut", grad);
    if (!tokens) return;
    require_matrix("permutedTokens", *tokens);
    require_rows("permutedTokensGradOut", grad, tokens->size(0));
}

// Each of so many rows times its probability.
at::Tensor weighted(const at::Tensor& rows, const at::Tensor& probabilities) {
    return rows * upcast(probabilities).reshape({-1, 1});
}

// The chosen experts' side of a routing map {tokens, experts}: for each row of the permuted tokens its token, expert by expert.
at::Tensor tokens_by_expert(const at::Tensor& map) {
    const at::Tensor tokens = at::arange(map.size(0), at::kLong).expand({map.size(1), map.size(0)});
    return tokens.masked_select(map.to(at::kBool).t());
}
// The token of each row where every expert has `capacity` rows, expert by expert: first the tokens that the map chooses.
at::Tensor tokens_by_capacity(const at::Tensor& map, int64_t capacity) {
    return std::get<1>(at::sort(map.to(at::kBool).t().contiguous(), /*stable=*/true, -1, /*descending=*/true))
        .narrow(1, 0, capacity)
        .flatten();
}
at::Tensor expert_of_rows(int64_t rows, int64_t experts) {
    return at::arange(rows, at::kLong).floor_divide(std::max<int64_t>(rows / std::max<int64_t>(experts, 1), 1));
}

void require_chosen(const at::Tensor& tokens, int64_t rows) {
    if (tokens.size(0) != rows) refuse("routingMap", c10::str(rows, " chosen tokens"), std::to_string(tokens.size(0)));
}

// From values expert by expert to {tokens, experts}, with 0 where nothing was chosen.
at::Tensor to_map(const at::Tensor& values, const at::Tensor& map) {
    const at::Tensor by_expert = at::zeros({map.size(1), map.size(0)}, values.options());
    return by_expert.masked_scatter(map.to(at::kBool).t(), values).t();
}

void require_map(const at::Tensor& map) {
    require_matrix("routingMap", map);
    if (map.size(1) == 0) refuse("routingMap", "at least one expert", shape_text(map.sizes()));
}
// An index for each row, and in padded mode as many rows for each expert.
void require_routed(const at::Tensor& rows, const at::Tensor& indices, int64_t experts, bool padded) {
    require_expected("sortedIndices", indices, elements(rows.size(0)));
    if (padded) require_multiple("sortedIndices", indices, experts);
}
void require_map(const std::optional<at::Tensor>& map) {
    if (!map) torch_aclnn::host::refuse_null("routingMap", "a tensor, as the engine needs it to know the experts");
    require_map(*map);
}

}  // namespace

ATEN_CHECKED_ENTRY(aclnnMoeTokenPermute, FLOATING,
                   (require_unpadded("paddedMode", paddedMode), require_permutation(tokens, indices, numOutTokens)), (In, tokens),
                   (In, indices), (Int, numOutTokens), (Bool, paddedMode),
                   (Out, permuteTokensOut, shape({remaining_rows(indices, numOutTokens), tokens.size(1)})),
                   (Out, sortedIndicesOut, elements(indices.numel()))) {
    const at::Tensor order = at::argsort(indices.flatten(), /*stable=*/true, 0, false);
    const int64_t copies = std::max<int64_t>(copies_of_each(indices, tokens.size(0)), 1);
    write(permuteTokensOut, tokens.index_select(0, order.narrow(0, 0, permuteTokensOut.size(0)).floor_divide(copies)));
    write(sortedIndicesOut, at::argsort(order));
}
ATEN_CHECKED_ENTRY(aclnnMoeTokenPermuteGrad, FLOATING,
                   (require_unpadded("paddedMode", paddedMode), require_matrix("permutedOutputGrad", permutedOutputGrad),
                    require_multiple("sortedIndices", sortedIndices, numTopk)),
                   (In, permutedOutputGrad), (In, sortedIndices), (Positive, numTopk), (Bool, paddedMode),
                   (Out, out, shape({sortedIndices.numel() / numTopk, permutedOutputGrad.size(1)}))) {
    const at::Tensor copies = rows_or_zeros(upcast(permutedOutputGrad), sortedIndices);
    write(out, copies.unflatten(0, at::IntArrayRef{out.size(0), numTopk}).sum(1));
}
ATEN_CHECKED_ENTRY(aclnnMoeTokenUnpermute, FLOATING,
                   (require_unpadded("paddedMode", paddedMode), require_matrix("permutedTokens", permutedTokens),
                    require_matrix("out", out), require_copies(sortedIndices, out.size(0), probs), require_restored(restoreShape, out)),
                   (In, permutedTokens), (In, sortedIndices), (OptIn, probs), (Bool, paddedMode), (OptInts, restoreShape),
                   (Out, out, rows_like(out, permutedTokens))) {
    at::Tensor copies = rows_or_zeros(upcast(permutedTokens), sortedIndices);
    if (given(probs)) copies = weighted(copies, *probs);
    write(out, copies.unflatten(0, at::IntArrayRef{out.size(0), copies_of_each(sortedIndices, out.size(0))}).sum(1));
}
ATEN_CHECKED_ENTRY(aclnnMoeTokenUnpermuteGrad, FLOATING,
                   (require_unpadded("paddedMode", paddedMode), require_tokens(permutedTokens, probs, permutedTokensGradOut),
                    require_matrix("unpermutedTokensGrad", unpermutedTokensGrad),
                    require_copies(sortedIndices, unpermutedTokensGrad.size(0), probs),
                    require_restored(restoreShape, unpermutedTokensGrad)),
                   (OptIn, permutedTokens), (In, unpermutedTokensGrad), (In, sortedIndices), (OptIn, probs), (Bool, paddedMode),
                   (OptInts, restoreShape), (Out, permutedTokensGradOut, rows_like(permutedTokensGradOut, unpermutedTokensGrad)),
                   (OptOut, probsGradOut, if_wanted(given(probs), probs ? shaped_like(*probs) : one_value()))) {
    const int64_t copies = copies_of_each(sortedIndices, unpermutedTokensGrad.size(0));
    const at::Tensor grad = upcast(unpermutedTokensGrad).repeat_interleave(copies, 0);
    write(permutedTokensGradOut, rows_at(given(probs) ? weighted(grad, *probs) : grad, sortedIndices, permutedTokensGradOut.size(0)));
    if (given(probs)) write(probsGradOut, (grad * rows_or_zeros(upcast(*permutedTokens), sortedIndices)).sum(1));
}

// With the map {tokens, experts} in place of indices. With dropAndPad each expert has the same number of tokens.
ATEN_CHECKED_ENTRY(aclnnMoeTokenPermuteWithRoutingMap, FLOATING, (require_matrix("tokens", tokens), require_map(routingMap)), (In, tokens),
                   (In, routingMap, shape({tokens.size(0), routingMap.size(1)})), (OptIn, probs, or_empty(shaped_like(routingMap))),
                   (NotNegative, numOutTokens), (Bool, dropAndPad), (Out, permuteTokensOut, rows_like(permuteTokensOut, tokens)),
                   (OptOut, permuteProbsOut, if_wanted(given(probs), shape({permuteTokensOut.size(0)}))),
                   (Out, sortedIndicesOut, elements(permuteTokensOut.size(0)))) {
    const int64_t rows = permuteTokensOut.size(0), experts = routingMap.size(1);
    const at::Tensor chosen = dropAndPad ? tokens_by_capacity(routingMap, numOutTokens / experts) : tokens_by_expert(routingMap);
    require_chosen(chosen, rows);
    write(permuteTokensOut, tokens.index_select(0, chosen));
    write(sortedIndicesOut, dropAndPad ? chosen : at::argsort(chosen, /*stable=*/true, 0, false));
    if (!given(probs)) return;
    write(permuteProbsOut,
          dropAndPad ? probs->index({chosen, expert_of_rows(rows, experts)}) : probs->t().masked_select(routingMap.to(at::kBool).t()));
}
ATEN_CHECKED_ENTRY(aclnnMoeTokenPermuteWithRoutingMapGrad, FLOATING,
                   (require_matrix("permutedTokenOutputGrad", permutedTokenOutputGrad),
                    require_routed(permutedTokenOutputGrad, sortedIndices, expertsNum, dropAndPad)),
                   (In, permutedTokenOutputGrad), (OptIn, permutedProbsOutputGrad, or_empty(shape({permutedTokenOutputGrad.size(0)}))),
                   (In, sortedIndices), (In, routingMap, shape({tokensNum, expertsNum})), (Positive, expertsNum), (NotNegative, tokensNum),
                   (Bool, dropAndPad), (Out, tokensGradOut, shape({tokensNum, permutedTokenOutputGrad.size(1)})),
                   (OptOut, probsGradOut, if_wanted(given(permutedProbsOutputGrad), shape({tokensNum, expertsNum})))) {
    const at::Tensor chosen = dropAndPad ? sortedIndices.to(at::kLong).flatten() : tokens_by_expert(routingMap);
    const int64_t rows = permutedTokenOutputGrad.size(0);
    require_chosen(chosen, rows);
    const at::Tensor grad = upcast(permutedTokenOutputGrad);
    write(tokensGradOut, grad.new_zeros({tokensNum, grad.size(1)}).index_add(0, chosen, grad));
    if (!given(permutedProbsOutputGrad)) return;
    const at::Tensor none = permutedProbsOutputGrad->new_zeros({tokensNum, expertsNum});
    write(probsGradOut, dropAndPad ? none.index_put({chosen, expert_of_rows(rows, expertsNum)}, *permutedProbsOutputGrad)
                                   : to_map(*permutedProbsOutputGrad, routingMap));
}
ATEN_CHECKED_ENTRY(aclnnMoeTokenUnpermuteWithRoutingMap, FLOATING,
                   (require_matrix("permutedTokens", permutedTokens), require_map(routingMap),
                    require_matrix("unpermutedTokens", unpermutedTokens), require_restored(restoreShape, unpermutedTokens),
                    paddedMode ? require_routed(permutedTokens, sortedIndices, routingMap->size(1), true)
                               : require_multiple("sortedIndices", sortedIndices, unpermutedTokens.size(0))),
                   (In, permutedTokens), (In, sortedIndices), (OptIn, routingMap, shape({unpermutedTokens.size(0), routingMap->size(1)})),
                   (OptIn, probs, or_empty(shaped_like(*routingMap))), (Bool, paddedMode), (OptInts, restoreShape),
                   (Out, unpermutedTokens, rows_like(unpermutedTokens, permutedTokens)), (Out, outIndex, elements(sortedIndices.numel())),
                   (Out, permuteTokenId, elements(sortedIndices.numel())),
                   (OptOut, permuteProbs, if_wanted(given(probs), shape({sortedIndices.numel()})))) {
    const at::Tensor map = routingMap->to(at::kBool), places = sortedIndices.to(at::kLong).flatten(), rows = upcast(permutedTokens);
    const int64_t tokens = unpermutedTokens.size(0), experts = map.size(1);
    if (paddedMode) {
        at::Tensor used = rows;
        if (given(probs)) {
            const at::Tensor chosen = probs->index({places, expert_of_rows(places.numel(), experts)});
            used = weighted(rows, chosen);
            write(permuteProbs, chosen);
        }
        write(unpermutedTokens, rows.new_zeros({tokens, rows.size(1)}).index_add(0, places, used));
        const auto [ids, order] = at::sort(places, /*stable=*/true, 0, false);
        write(permuteTokenId, ids);
        write(outIndex, order);
        return;
    }
    at::Tensor copies = rows_or_zeros(rows, places);
    if (given(probs)) {
        const at::Tensor chosen = probs->masked_select(map);
        require_chosen(chosen, copies.size(0));
        copies = weighted(copies, chosen);
        write(permuteProbs, chosen);
    }
    const int64_t each = std::max<int64_t>(copies_of_each(sortedIndices, tokens), 1);
    write(unpermutedTokens, copies.unflatten(0, at::IntArrayRef{tokens, each}).sum(1));
    write(outIndex, places);
    write(permuteTokenId, at::arange(places.numel(), at::kLong).floor_divide(each));
}
// Without padding `outIndex` is `sortedIndices`, from which the tokens follow.
ATEN_CHECKED_ENTRY(aclnnMoeTokenUnpermuteWithRoutingMapGrad, FLOATING,
                   (require_matrix("unpermutedTokensGrad", unpermutedTokensGrad), require_map(routingMap),
                    require_restored(restoreShape, unpermutedTokensGrad),
                    require_multiple("outIndex", outIndex, paddedMode ? routingMap->size(1) : unpermutedTokensGrad.size(0))),
                   (In, unpermutedTokensGrad), (In, outIndex), (In, permuteTokenId, elements(outIndex.numel())),
                   (OptIn, routingMap, shape({unpermutedTokensGrad.size(0), routingMap->size(1)})),
                   (OptIn, permutedTokens, shape({outIndex.numel(), unpermutedTokensGrad.size(1)})),
                   (OptIn, probs, or_empty(shaped_like(*routingMap))), (Bool, paddedMode), (OptInts, restoreShape),
                   (Out, permutedTokensGradOut, shape({outIndex.numel(), unpermutedTokensGrad.size(1)})),
                   (OptOut, probsGradOut,
                    if_wanted(given(probs) && permutedTokens, shape({unpermutedTokensGrad.size(0), routingMap->size(1)})))) {
    const at::Tensor map = routingMap->to(at::kBool), places = outIndex.to(at::kLong).flatten();
    const int64_t tokens = unpermutedTokensGrad.size(0), rows = places.numel(), experts = map.size(1);
    const int64_t each = std::max<int64_t>(copies_of_each(places, tokens), 1);
    const at::Tensor ids = paddedMode ? permuteTokenId.to(at::kLong).flatten() : at::arange(rows, at::kLong).floor_divide(each);
    const at::Tensor grad = rows_at(upcast(unpermutedTokensGrad).index_select(0, ids), places, rows);
    if (!given(probs)) return write(permutedTokensGradOut, grad);
    const at::Tensor row_of_token = at::empty_like(places).index_copy(0, places, ids);  // the token of each row
    const at::Tensor chosen = paddedMode ? probs->index({row_of_token, expert_of_rows(rows, experts)}) : probs->t().masked_select(map.t());
    require_chosen(chosen, rows);
    write(permutedTokensGradOut, weighted(grad, chosen));
    if (!permutedTokens) return;
    const at::Tensor of_probs = (grad * upcast(*permutedTokens)).sum(1);
    write(probsGradOut, paddedMode
                            ? of_probs.new_zeros({tokens, experts}).index_put({row_of_token, expert_of_rows(rows, experts)}, of_probs)
                            : to_map(of_probs, map));
}
