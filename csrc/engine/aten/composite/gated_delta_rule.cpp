// Linear attention with a state for each head: gates let it decay, and each token corrects what the state has at its key (the gated delta
// rule). Tokens of several sequences lie below each other.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "linear attention"
using namespace torch_aclnn::host::aten;

namespace {

using OptTensor = std::optional<at::Tensor>;
using torch_aclnn::host::aten::require_range;

// Each head of the value has a query and a key, which it may share.
struct DeltaTokens {
    at::Tensor query, key, value, decay, strength;  // {tokens, heads, ...}

    DeltaTokens(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const OptTensor& beta, const OptTensor& g,
                const OptTensor& gk, double scale)
        : query(upcast(query).repeat_interleave(value.size(1) / query.size(1), 1) * scale),
          key(upcast(key).repeat_interleave(value.size(1) / key.size(1), 1)),
          value(upcast(value)),
          decay(g ? at::exp(upcast(*g)).unsqueeze(2) : at::ones({value.size(0), value.size(1), 1})),
          strength(beta ? upcast(*beta) : at::ones({value.size(0), value.size(1)})) {
        if (gk) decay = decay * at::exp(upcast(*gk));
    }
    // The state {heads, features of the value, features of the key} after a token, whose result goes to `out`.
    at::Tensor after(const at::Tensor& state, int64_t token, const at::Tensor& out) const {
        const at::Tensor k = key[token].unsqueeze(1), faded = state * decay[token].unsqueeze(1);
        const at::Tensor missing = value[token] - (faded * k).sum(2);
        const at::Tensor next = faded + (missing * strength[token].unsqueeze(1)).unsqueeze(2) * k;
        out[token].copy_((next * query[token].unsqueeze(1)).sum(2));
        return next;
    }
};

void require_delta_heads(const at::Tensor& key, const at::Tensor& value) {
    if (key.dim() == 3 && value.dim() == 3 && (key.size(1) == 0 || value.size(1) % key.size(1) != 0))
        torch_aclnn::host::refuse("value", c10::str("a multiple of the key's ", key.size(1), " heads"), shape_text(value.sizes()));
}

// Calls `use` with the number and the first token of each sequence, and the token behind it.
template <class Use>
void for_each_sequence(const at::Tensor& lengths, int64_t tokens, Use use) {
    require_range("actualSeqLengths", lengths, 0, tokens + 1);
    require_range("actualSeqLengths", lengths.cumsum(0), 0, tokens + 1);
    int64_t first = 0;
    for (int64_t i = 0; i < lengths.numel(); i++) {
        const int64_t end = first + lengths[i].item<int64_t>();
        use(i, first, end);
        first = end;
    }
}

}  // namespace

#define DELTA_INPUTS (In, query, rank(3)), (In, key, shaped_like(query)), (In, value, shape({query.size(0), value.size(1), value.size(2)}))
#define OF_HEADS shape({value.size(0), value.size(1)})
#define DELTA_STATE(count) shape({count, value.size(1), value.size(2), key.size(2)})

// The state after each token goes where ssmStateIndices says. A sequence begins with that of the last token that was accepted before.
ATEN_CHECKED_ENTRY(aclnnRecurrentGatedDeltaRule, BF16, require_delta_heads(key, value), DELTA_INPUTS, (OptIn, beta, OF_HEADS),
                   (InOut, stateRef, DELTA_STATE(size_of(stateRef, 0))), (In, actualSeqLengths, rank(1)),
                   (Indices, ssmStateIndices, shape({value.size(0)})), (OptIn, g, OF_HEADS),
                   (OptIn, gk, shape({value.size(0), value.size(1), key.size(2)})),
                   (OptIn, numAcceptedTokens, shape({actualSeqLengths.size(0)})), (Float, scale), (Out, out, like(value))) {
    const DeltaTokens tokens(query, key, value, beta, g, gk, scale);
    require_indices("ssmStateIndices", ssmStateIndices, stateRef.size(0));
    out.zero_();
    for_each_sequence(actualSeqLengths, value.size(0), [&](int64_t i, int64_t first, int64_t end) {
        if (first == end) return;
        if (numAcceptedTokens) require_range("numAcceptedTokens", (*numAcceptedTokens)[i], 1, end - first + 1);
        const int64_t last = numAcceptedTokens ? (*numAcceptedTokens)[i].item<int64_t>() - 1 : 0;
        at::Tensor state = upcast(stateRef[ssmStateIndices[first + last].item<int64_t>()].clone());
        for (int64_t t = first; t < end; t++) {
            state = tokens.after(state, t, out);
            stateRef[ssmStateIndices[t].item<int64_t>()].copy_(state);
        }
    });
}
ATEN_CHECKED_ENTRY(aclnnChunkGatedDeltaRule, BF16, require_delta_heads(key, value), DELTA_INPUTS, (In, beta, OF_HEADS),
                   (In, initialState, DELTA_STATE(size_of(initialState, 0))), (In, actualSeqLengths, shape({initialState.size(0)})),
                   (Float, scale), (OptIn, g, OF_HEADS), (Out, out, like(value)), (Out, finalState, like(initialState))) {
    const DeltaTokens tokens(query, key, value, beta, g, std::nullopt, scale);
    out.zero_();
    for_each_sequence(actualSeqLengths, value.size(0), [&](int64_t i, int64_t first, int64_t end) {
        at::Tensor state = upcast(initialState[i]);
        for (int64_t t = first; t < end; t++) state = tokens.after(state, t, out);
        finalState[i].copy_(state);
    });
}
