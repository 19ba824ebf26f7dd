// Which keys each token attends to, by the scores of an index that is trained beside the attention.
#include "engine/aten/composite/lightning_indexer.h"

#include <algorithm>
#include <limits>

#include "engine/aten/adapter/indices.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "sparse attention"
using namespace torch_aclnn::host::aten;

namespace {

using OptTensor = std::optional<at::Tensor>;
constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// Writes the places of the largest scores of each row, and the scores. Behind those that there are, the places are -1.
void choose(const at::Tensor& scores, const at::Tensor& places, const OptTensor& values) {
    const int64_t count = std::min(places.size(2), scores.size(2));
    const auto [sorted, order] = at::sort(scores, true, 2, true);
    const at::Tensor best = sorted.narrow(2, 0, count), from = order.narrow(2, 0, count).masked_fill(best.eq(kUnseen), -1);
    places.narrow(2, 0, count).copy_(from.transpose(0, 1));
    if (values) values->narrow(2, 0, count).copy_(best.transpose(0, 1));
}

void index(const TokenSequences& s, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights, int64_t mode,
           const at::Tensor& places, const OptTensor& values) {
    places.fill_(-1);
    if (values) values->fill_(kUnseen);
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        at::Tensor scores = IndexScores(s.of_query(query, q), s.of_key(key, k), s.of_query(weights, q)).values();
        if (mode == 3) scores = scores.masked_fill(seen(q.length, k.length).logical_not(), kUnseen);
        choose(scores, s.of_query(places, q), values ? OptTensor(s.of_query(*values, q)) : std::nullopt);
    });
}

// A key's scale for each of its numbers, in the layout of the keys.
void require_scales(const at::Tensor& key, const at::Tensor& scale) {
    const at::IntArrayRef sizes = key.sizes().slice(0, key.dim() - 1);
    if (scale.sizes() != sizes) torch_aclnn::host::refuse("keyDequantScale", shape_text(sizes), shape_text(scale.sizes()));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using NoQuantMode = Between<int64_t, 0, 0>;  // a scale for each token and head
}

#define INDEXED(layout_key)                                                                                                           \
    TokenSequences{layoutQuery,          layout_key, actualSeqLengthsQuery, actualSeqLengthsKey, blockTable, "actualSeqLengthsQuery", \
                   "actualSeqLengthsKey"}
#define REQUIRE_INDEXED INDEXED(layoutKey).require({"query", query}, {"key", key})
#define INDEX_LENGTHS (OptIn, actualSeqLengthsQuery), (OptIn, actualSeqLengthsKey), (OptIn, blockTable)
#define INDEX_ATTRIBUTES                                                                                                            \
    (QueryLayout, layoutQuery), (KeyLayout, layoutKey), (Positive, sparseCount), (CausalMode, sparseMode), (NoDistance, preTokens), \
        (NoDistance, nextTokens)
#define OF_TOKEN without_dim(query.sizes(), -1)

ATEN_CHECKED_ENTRY(aclnnLightningIndexer, FLOAT16 | BF16, REQUIRE_INDEXED, (In, query), (In, key), (In, weights, OF_TOKEN), INDEX_LENGTHS,
                   INDEX_ATTRIBUTES, (Bool, returnValue), (Out, sparseIndicesOut, like_queries(query, key.size(-2), sparseCount)),
                   (OptOut, sparseValuesOut, if_wanted(returnValue, like_queries(query, key.size(-2), sparseCount)))) {
    index(INDEXED(layoutKey), query, key, weights, sparseMode, sparseIndicesOut, returnValue ? sparseValuesOut : std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnQuantLightningIndexer, INT8, (REQUIRE_INDEXED, require_scales(key, keyDequantScale)), (In, query), (In, key),
                   (In, weights, OF_TOKEN), (In, queryDequantScale, OF_TOKEN), (In, keyDequantScale), INDEX_LENGTHS,
                   (NoQuantMode, queryQuantMode), (NoQuantMode, keyQuantMode), INDEX_ATTRIBUTES,
                   (Out, sparseIndicesOut, like_queries(query, key.size(-2), sparseCount))) {
    const auto scaled = [](const at::Tensor& numbers, const at::Tensor& scale) {
        return numbers.to(at::kFloat) * upcast(scale).unsqueeze(-1);
    };
    index(INDEXED(layoutKey), scaled(query, queryDequantScale), scaled(key, keyDequantScale), weights, sparseMode, sparseIndicesOut,
          std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnLightningIndexerGrad, FLOAT16 | BF16,
                   (TokenSequences{layout, layout, actualSeqLengthsQuery, actualSeqLengthsKey, std::nullopt, "actualSeqLengthsQuery",
                                   "actualSeqLengthsKey"}
                        .require({"query", query}, {"key", key})),
                   (In, query), (In, key), (In, dy, like_queries(query, key.size(-2), size_of(dy, dy.dim() - 1))),
                   (In, sparseIndices, shaped_like(dy)), (In, weights, OF_TOKEN), (OptIn, actualSeqLengthsQuery),
                   (OptIn, actualSeqLengthsKey), (NotNegative, headNum), (QueryLayout, layout), (CausalMode, sparseMode),
                   (NoDistance, preTokens), (NoDistance, nextTokens), (Bool, deterministic), (Out, dQuery, like(query)),
                   (Out, dKey, like(key)), (Out, dWeights, like(weights))) {
    const TokenSequences s{
        layout, layout, actualSeqLengthsQuery, actualSeqLengthsKey, std::nullopt, "actualSeqLengthsQuery", "actualSeqLengthsKey"};
    for (const at::Tensor* gradient : {&dQuery, &dKey, &dWeights}) gradient->zero_();
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        const IndexScores scores(s.of_query(query, q), s.of_key(key, k), s.of_query(weights, q));
        const at::Tensor places = s.of_query(sparseIndices, q).transpose(0, 1).to(at::kLong),
                         grads = upcast(s.of_query(dy, q)).transpose(0, 1);
        const at::Tensor missing = places.lt(0), to = places.masked_fill(missing, 0);
        require_indices("sparseIndices", to, k.length);
        const at::Tensor of_scores = at::zeros({key.size(-2), q.length, k.length}).scatter_add(2, to, grads.masked_fill(missing, 0));
        const IndexScores::Gradients of = scores.backward(of_scores);
        s.of_query(dQuery, q).copy_(of.query);
        s.of_key(dKey, k).copy_(of.key);
        s.of_query(dWeights, q).copy_(of.weights);
    });
}
