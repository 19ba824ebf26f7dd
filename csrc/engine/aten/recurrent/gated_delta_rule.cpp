// Linear attention with a state for each head: gates let it decay, and each token corrects what the state has at its key (the gated delta
// rule). Tokens of several sequences lie below each other.

#include "vocabulary/recurrent/gated_delta_rule_calls.h"

namespace {

// Each head of the value has a query and a key, which heads may share.
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
    // Returns the state {heads, features of the value, features of the key} after a token, whose result goes to `out`.
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
        refuse("value", c10::str("a multiple of the key's ", key.size(1), " heads"), shape_text(value.sizes()));
}

// Calls `use` with the number and the first token of each sequence, and the token behind its last.
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

// The state after each token goes where ssmStateIndices says. A sequence begins with that of the last token that was accepted before.
static void compute(const call::RecurrentGatedDeltaRule& a) {
    const DeltaTokens tokens(a.query, a.key, a.value, a.beta, a.g, a.gk, a.scale);
    require_indices("ssmStateIndices", a.ssmStateIndices, a.stateRef.size(0));
    a.out.zero_();
    for_each_sequence(a.actualSeqLengths, a.value.size(0), [&](int64_t i, int64_t first, int64_t end) {
        if (first == end) return;
        if (a.numAcceptedTokens) require_range("numAcceptedTokens", (*a.numAcceptedTokens)[i], 1, end - first + 1);
        const int64_t last = a.numAcceptedTokens ? (*a.numAcceptedTokens)[i].item<int64_t>() - 1 : 0;
        at::Tensor state = upcast(a.stateRef[a.ssmStateIndices[first + last].item<int64_t>()].clone());
        for (int64_t t = first; t < end; t++) {
            state = tokens.after(state, t, a.out);
            a.stateRef[a.ssmStateIndices[t].item<int64_t>()].copy_(state);
        }
    });
}
static void compute(const call::ChunkGatedDeltaRule& a) {
    const DeltaTokens tokens(a.query, a.key, a.value, a.beta, a.g, std::nullopt, a.scale);
    a.out.zero_();
    for_each_sequence(a.actualSeqLengths, a.value.size(0), [&](int64_t i, int64_t first, int64_t end) {
        at::Tensor state = upcast(a.initialState[i]);
        for (int64_t t = first; t < end; t++) state = tokens.after(state, t, a.out);
        a.finalState[i].copy_(state);
    });
}
