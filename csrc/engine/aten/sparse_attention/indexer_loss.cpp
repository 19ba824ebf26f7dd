// The training of the index beside an attention: the divergence between what the attention gives to the keys, all heads together, and the
// softmax of the index' scores, with its gradients.

#include "engine/aten/sparse_attention/lightning_indexer.h"
#include "vocabulary/sparse_attention/indexer_loss_calls.h"

static TokenSequences loss_sequences(const auto& a) {
    return {a.layout,        a.layout,       lengths_tensor(a.actualSeqQlen), lengths_tensor(a.actualSeqKlen), std::nullopt,
            "actualSeqQlen", "actualSeqKlen"};
}

// Returns what the attention gives to each of {rows, columns}. The maximum and the sum of each head's scores are those of the attention
// itself, so that the exponentials are its probabilities.
static at::Tensor attended(const call::DenseLightningIndexerGradKLLoss& a, const TokenSequences& s, const TokenSpan& q, const TokenSpan& k,
                           const at::Tensor& allowed) {
    const auto scores = [&](const at::Tensor& one, const at::Tensor& other) {
        const at::Tensor rows = upcast(s.of_query(one, q)).transpose(0, 1), columns = upcast(s.of_key(other, k)).permute({1, 2, 0});
        return at::matmul(rows, columns.repeat_interleave(rows.size(0) / columns.size(0), 0));
    };
    at::Tensor all = scores(a.query, a.key);
    if (given(a.queryRope)) all = all + scores(*a.queryRope, *a.keyRope);
    const auto of_heads = [&](const at::Tensor& numbers) { return s.by_head(numbers, q).transpose(1, 2).flatten(0, 1).unsqueeze(2); };
    const at::Tensor powers = at::exp(all * a.scaleValue - of_heads(a.softmaxMax)) / of_heads(a.softmaxSum);
    const at::Tensor sum = powers.masked_fill(allowed.logical_not(), 0).sum(0);
    return sum / sum.sum(1, true).clamp_min(std::numeric_limits<float>::min());
}

static void compute(const call::DenseLightningIndexerSoftmaxLse& a) {
    const TokenSequences s = loss_sequences(a);
    a.softmaxMaxOut.zero_();
    a.softmaxSumOut.zero_();
    s.for_each(a.queryIndex, a.keyIndex, [&](const TokenSpan& q, const TokenSpan& k) {
        const at::Tensor scores = IndexScores(s.of_query(a.queryIndex, q), s.of_key(a.keyIndex, k), s.of_query(a.weights, q)).values();
        const at::Tensor values = scores.masked_fill(seen(q.length, k.length).logical_not(), -kInfinity), max = values.amax(2, true);
        s.by_head(a.softmaxMaxOut, q).copy_(max.squeeze(2));
        s.by_head(a.softmaxSumOut, q).copy_(at::exp(values - max).nan_to_num(0).sum(2));
    });
}

static void check(const call::DenseLightningIndexerGradKLLoss& a) {
    const TokenSequences s = loss_sequences(a);
    s.require({"query", a.query}, {"key", a.key});
    s.require({"queryIndex", a.queryIndex}, {"keyIndex", a.keyIndex});
    if (a.keyIndex.size(-2) != 1) refuse("keyIndex", "one head", shape_text(a.keyIndex.sizes()));
    require_rope(a.queryRope, a.keyRope);
    if (given(a.queryRope)) s.require({"queryRope", *a.queryRope}, {"keyRope", *a.keyRope});
}
static void compute(const call::DenseLightningIndexerGradKLLoss& a) {
    const TokenSequences s = loss_sequences(a);
    for (const at::Tensor* out : {&a.dQueryIndex, &a.dKeyIndex, &a.dWeights, &a.loss}) out->zero_();
    s.for_each(a.query, a.key, [&](const TokenSpan& q, const TokenSpan& k) {
        at::Tensor allowed = seen(q.length, k.length);
        if (a.sparseIndices.defined())
            allowed = allowed.logical_and(chosen_columns("sparseIndices", s.of_query(a.sparseIndices, q), 1, k.length).select(0, 0));
        const IndexScores scores(s.of_query(a.queryIndex, q), s.of_key(a.keyIndex, k), s.of_query(a.weights, q));
        const at::Tensor values = scores.values().select(0, 0).masked_fill(allowed.logical_not(), -kInfinity);
        const at::Tensor target = attended(a, s, q, k, allowed),
                         logarithms = at::log_softmax(values, 1).masked_fill(allowed.logical_not(), 0);
        a.loss.add_((at::xlogy(target, target) - target * logarithms).sum());
        const at::Tensor shares = at::exp(logarithms).masked_fill(allowed.logical_not(), 0);
        const IndexScores::Gradients of = scores.backward((shares - target).unsqueeze(0));
        s.of_query(a.dQueryIndex, q).copy_(of.query);
        s.of_key(a.dKeyIndex, k).copy_(of.key);
        s.of_query(a.dWeights, q).copy_(of.weights);
    });
}
