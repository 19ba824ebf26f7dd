// The training of the index beside an attention: the divergence between what the attention gives to the keys, all heads together, and the
// softmax of the index' scores, with its gradients.
#include <limits>

#include "engine/aten/composite/lightning_indexer.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "sparse attention"
using namespace torch_aclnn::host::aten;

namespace {

using OptTensor = std::optional<at::Tensor>;
using OptLengths = std::optional<std::vector<int64_t>>;
using torch_aclnn::host::refuse;
constexpr double kUnseenScore = -std::numeric_limits<double>::infinity();

TokenSequences loss_sequences(std::string_view layout, const OptLengths& query, const OptLengths& key) {
    return {layout, layout, lengths_tensor(query), lengths_tensor(key), std::nullopt, "actualSeqQlen", "actualSeqKlen"};
}

at::Tensor index_values(const TokenSequences& s, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                        const TokenSpan& q, const TokenSpan& k) {
    const at::Tensor scores = IndexScores(s.of_query(query, q), s.of_key(key, k), s.of_query(weights, q)).values();
    return scores.masked_fill(seen(q.length, k.length).logical_not(), kUnseenScore);
}

struct IndexerLoss {
    const at::Tensor &query, &key, &query_index, &key_index, &weights;
    const OptTensor& indices;  // which keys there are; all without it
    const at::Tensor &softmax_max, &softmax_sum;
    const OptTensor &query_rope, &key_rope;
    double scale;
    TokenSequences s;

    // What the attention gives to each of {rows, columns}. The maximum and the sum of each head's scores are those of the attention itself,
    // so that the exponentials are its probabilities.
    at::Tensor attended(const TokenSpan& q, const TokenSpan& k, const at::Tensor& allowed) const {
        const auto scores = [&](const at::Tensor& one, const at::Tensor& other) {
            const at::Tensor rows = upcast(s.of_query(one, q)).transpose(0, 1), columns = upcast(s.of_key(other, k)).permute({1, 2, 0});
            return at::matmul(rows, columns.repeat_interleave(rows.size(0) / columns.size(0), 0));
        };
        at::Tensor all = scores(query, key);
        if (given(query_rope)) all = all + scores(*query_rope, *key_rope);
        const auto of_heads = [&](const at::Tensor& numbers) { return s.by_head(numbers, q).transpose(1, 2).flatten(0, 1).unsqueeze(2); };
        const at::Tensor powers = at::exp(all * scale - of_heads(softmax_max)) / of_heads(softmax_sum);
        const at::Tensor sum = powers.masked_fill(allowed.logical_not(), 0).sum(0);
        return sum / sum.sum(1, true).clamp_min(std::numeric_limits<float>::min());
    }

    void run(const at::Tensor& of_query, const at::Tensor& of_key, const at::Tensor& of_weights, const at::Tensor& loss) const {
        for (const at::Tensor* out : {&of_query, &of_key, &of_weights, &loss}) out->zero_();
        s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
            at::Tensor allowed = seen(q.length, k.length);
            if (indices) allowed = allowed.logical_and(chosen_columns("sparseIndices", s.of_query(*indices, q), 1, k.length).select(0, 0));
            const IndexScores scores(s.of_query(query_index, q), s.of_key(key_index, k), s.of_query(weights, q));
            const at::Tensor values = scores.values().select(0, 0).masked_fill(allowed.logical_not(), kUnseenScore);
            const at::Tensor target = attended(q, k, allowed),
                             logarithms = at::log_softmax(values, 1).masked_fill(allowed.logical_not(), 0);
            loss.add_((at::xlogy(target, target) - target * logarithms).sum());
            const at::Tensor shares = at::exp(logarithms).masked_fill(allowed.logical_not(), 0);
            const IndexScores::Gradients of = scores.backward((shares - target).unsqueeze(0));
            s.of_query(of_query, q).copy_(of.query);
            s.of_key(of_key, k).copy_(of.key);
            s.of_query(of_weights, q).copy_(of.weights);
        });
    }

    void require() const {
        s.require({"query", query}, {"key", key});
        s.require({"queryIndex", query_index}, {"keyIndex", key_index});
        if (key_index.size(-2) != 1) refuse("keyIndex", "one head", shape_text(key_index.sizes()));
        if (given(query_rope) != given(key_rope))
            refuse("keyRope", "a tensor if and only if there is queryRope", given(key_rope) ? "one" : "none");
        if (given(query_rope)) s.require({"queryRope", *query_rope}, {"keyRope", *key_rope});
    }
};

}  // namespace

#define OF_INDEX_TOKEN without_dim(queryIndex.sizes(), -1)
#define LOSS_ATTRIBUTES (QueryLayout, layout), (OnlyCausal, sparseMode), (NoDistance, preTokens), (NoDistance, nextTokens)
#define LOSS_SEQUENCES loss_sequences(layout, actualSeqQlen, actualSeqKlen)
#define INDEXER_LOSS(indices)                                                                                                      \
    IndexerLoss {                                                                                                                  \
        query, key, queryIndex, keyIndex, weights, indices, softmaxMax, softmaxSum, queryRope, keyRope, scaleValue, LOSS_SEQUENCES \
    }
#define LOSS_INPUTS                                                                                                  \
    (In, query), (In, key), (In, queryIndex, like_queries(query, size_of(queryIndex, -2), size_of(queryIndex, -1))), \
        (In, keyIndex, like_queries(key, 1, size_of(queryIndex, -1))), (In, weights, OF_INDEX_TOKEN)
#define LOSS_STATISTICS (In, softmaxMax, by_key_head(query, key)), (In, softmaxSum, by_key_head(query, key))
#define LOSS_ROPES                                                                                              \
    (OptIn, queryRope, or_empty(like_queries(query, query.size(-2), queryRope ? size_of(*queryRope, -1) : 0))), \
        (OptIn, keyRope, or_empty(like_queries(key, key.size(-2), queryRope ? size_of(*queryRope, -1) : 0)))
#define LOSS_OUTPUTS \
    (Out, dQueryIndex, like(queryIndex)), (Out, dKeyIndex, like(keyIndex)), (Out, dWeights, like(weights)), (Out, loss, shape({1}))

namespace {
const OptTensor kAllKeys;
}

ATEN_CHECKED_ENTRY(aclnnDenseLightningIndexerSoftmaxLse, FLOAT16 | BF16,
                   LOSS_SEQUENCES.require({"queryIndex", queryIndex}, {"keyIndex", keyIndex}), (In, queryIndex), (In, keyIndex),
                   (In, weights, OF_INDEX_TOKEN), (OptInts, actualSeqQlen), (OptInts, actualSeqKlen), LOSS_ATTRIBUTES,
                   (Out, softmaxMaxOut, of_key_head(queryIndex, keyIndex)), (Out, softmaxSumOut, of_key_head(queryIndex, keyIndex))) {
    const TokenSequences s = LOSS_SEQUENCES;
    softmaxMaxOut.zero_();
    softmaxSumOut.zero_();
    s.for_each(queryIndex, keyIndex, [&](const TokenSpan& q, const TokenSpan& k) {
        const at::Tensor values = index_values(s, queryIndex, keyIndex, weights, q, k), max = values.amax(2, true);
        s.by_head(softmaxMaxOut, q).copy_(max.squeeze(2));
        s.by_head(softmaxSumOut, q).copy_(at::exp(values - max).nan_to_num(0).sum(2));
    });
}
// The statistics of the index' scores come as inputs, to save memory on a device; here they are computed again.
ATEN_CHECKED_ENTRY(aclnnDenseLightningIndexerGradKLLoss, FLOAT16 | BF16, INDEXER_LOSS(kAllKeys).require(), LOSS_INPUTS, LOSS_STATISTICS,
                   (In, softmaxMaxIndex, of_key_head(queryIndex, keyIndex)), (In, softmaxSumIndex, of_key_head(queryIndex, keyIndex)),
                   LOSS_ROPES, (OptInts, actualSeqQlen), (OptInts, actualSeqKlen), (Double, scaleValue), LOSS_ATTRIBUTES, LOSS_OUTPUTS) {
    INDEXER_LOSS(kAllKeys).run(dQueryIndex, dKeyIndex, dWeights, loss);
}
#define SPARSE_LOSS_INPUTS \
    LOSS_INPUTS, (In, sparseIndices, like_queries(queryIndex, 1, size_of(sparseIndices, -1))), LOSS_STATISTICS, LOSS_ROPES
ATEN_CHECKED_ENTRY(aclnnSparseLightningIndexerGradKLLoss, FLOAT16 | BF16, INDEXER_LOSS(kAllKeys).require(), SPARSE_LOSS_INPUTS,
                   (OptInts, actualSeqQlen), (OptInts, actualSeqKlen), (Double, scaleValue), LOSS_ATTRIBUTES, (Bool, deterministic),
                   LOSS_OUTPUTS) {
    const OptTensor chosen = sparseIndices;
    INDEXER_LOSS(chosen).run(dQueryIndex, dKeyIndex, dWeights, loss);
}
// The sinks are in the sums of the attention's exponentials.
ATEN_CHECKED_ENTRY(aclnnSparseLightningIndexerGradKLLossV2, FLOAT16 | BF16, INDEXER_LOSS(kAllKeys).require(), SPARSE_LOSS_INPUTS,
                   (OptInts, actualSeqQlen), (OptInts, actualSeqKlen), (OptIn, sinks, shape({query.size(-2)})), (Double, scaleValue),
                   LOSS_ATTRIBUTES, (Bool, deterministic), LOSS_OUTPUTS) {
    const OptTensor chosen = sparseIndices;
    INDEXER_LOSS(chosen).run(dQueryIndex, dKeyIndex, dWeights, loss);
}
