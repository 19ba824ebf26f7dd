// Which keys each token attends to, by the scores of an index that is trained beside the attention.
#include "engine/aten/sparse_attention/lightning_indexer.h"

#include "vocabulary/sparse_attention/lightning_indexer_calls.h"

// Writes the places of the largest scores of each row, and the scores. Behind those that there are, the places are -1.
static void choose(const at::Tensor& scores, const at::Tensor& places, const OptTensor& values) {
    const int64_t count = std::min(places.size(2), scores.size(2));
    const auto [sorted, order] = at::sort(scores, true, 2, true);
    const at::Tensor best = sorted.narrow(2, 0, count), from = order.narrow(2, 0, count).masked_fill(best.eq(-kInfinity), -1);
    places.narrow(2, 0, count).copy_(from.transpose(0, 1));
    if (values) values->narrow(2, 0, count).copy_(best.transpose(0, 1));
}

static void index(const TokenSequences& s, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights, int64_t mode,
                  const at::Tensor& places, const OptTensor& values) {
    places.fill_(-1);
    if (values) values->fill_(-kInfinity);
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        at::Tensor scores = IndexScores(s.of_query(query, q), s.of_key(key, k), s.of_query(weights, q)).values();
        if (mode == 3) scores = scores.masked_fill(seen(q.length, k.length).logical_not(), -kInfinity);
        choose(scores, s.of_query(places, q), values ? OptTensor(s.of_query(*values, q)) : std::nullopt);
    });
}

static TokenSequences indexed_sequences(const auto& a) {
    return {a.layoutQuery,           a.layoutKey,          a.actualSeqLengthsQuery, a.actualSeqLengthsKey, a.blockTable,
            "actualSeqLengthsQuery", "actualSeqLengthsKey"};
}
static TokenSequences indexed_sequences(const call::LightningIndexerGrad& a) {
    return {
        a.layout, a.layout, a.actualSeqLengthsQuery, a.actualSeqLengthsKey, std::nullopt, "actualSeqLengthsQuery", "actualSeqLengthsKey"};
}

static void compute(const call::LightningIndexer& a) {
    index(indexed_sequences(a), a.query, a.key, a.weights, a.sparseMode, a.sparseIndicesOut,
          a.returnValue ? a.sparseValuesOut : std::nullopt);
}
static void compute(const call::QuantLightningIndexer& a) {
    const auto scaled = [](const at::Tensor& numbers, const at::Tensor& scale) {
        return numbers.to(at::kFloat) * upcast(scale).unsqueeze(-1);
    };
    index(indexed_sequences(a), scaled(a.query, a.queryDequantScale), scaled(a.key, a.keyDequantScale), a.weights, a.sparseMode,
          a.sparseIndicesOut, std::nullopt);
}
static void compute(const call::LightningIndexerGrad& a) {
    const TokenSequences s = indexed_sequences(a);
    for (const at::Tensor* gradient : {&a.dQuery, &a.dKey, &a.dWeights}) gradient->zero_();
    s.for_each(a.query, a.key, [&](const TokenSpan& q, const TokenSpan& k) {
        const IndexScores scores(s.of_query(a.query, q), s.of_key(a.key, k), s.of_query(a.weights, q));
        const at::Tensor places = s.of_query(a.sparseIndices, q).transpose(0, 1).to(at::kLong),
                         grads = upcast(s.of_query(a.dy, q)).transpose(0, 1);
        const at::Tensor missing = places.lt(0), to = places.masked_fill(missing, 0);
        require_indices("sparseIndices", to, k.length);
        const at::Tensor of_scores = at::zeros({a.key.size(-2), q.length, k.length}).scatter_add(2, to, grads.masked_fill(missing, 0));
        const IndexScores::Gradients of = scores.backward(of_scores);
        s.of_query(a.dQuery, q).copy_(of.query);
        s.of_key(a.dKey, k).copy_(of.key);
        s.of_query(a.dWeights, q).copy_(of.weights);
    });
}
