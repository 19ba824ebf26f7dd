// Attention to the keys that an index has chosen for each token, of which those of an absorbed latent attention have features of rope.
#include "engine/aten/composite/multiple_sequences.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "sparse attention"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;

struct SparseAttention {
    const at::Tensor &query, &key, &value, &indices;  // with the features of rope
    int64_t block;
    double scale;
    int64_t mode;
    OptTensor sinks;
    const TokenSequences& s;

    AllowedAttention of(const TokenSpan& q, const TokenSpan& k) const {
        at::Tensor allowed = chosen_columns("sparseIndices", s.of_query(indices, q), block, k.length);
        if (mode == 3) allowed = allowed.logical_and(seen(q.length, k.length));
        return {s.of_query(query, q), s.of_key(key, k), s.of_key(value, k), allowed, scale, sinks};
    }
    void forward(const at::Tensor& out, const OptTensor& max, const OptTensor& sum) const {
        out.zero_();
        for (const OptTensor* statistic : {&max, &sum})
            if (*statistic) (*statistic)->zero_();
        s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
            const AllowedAttention a = of(q, k);
            s.of_query(out, q).copy_(a.result());
            const auto put = [&](const OptTensor& to, const at::Tensor& from) {
                if (to) s.by_head(*to, q).copy_(from.squeeze(2).unflatten(0, at::IntArrayRef{key.size(-2), -1}).transpose(1, 2));
            };
            put(max, a.maximum);
            put(sum, a.sum);
        });
    }
    void backward(const at::Tensor& grad, const at::Tensor& of_query, const at::Tensor& of_key, const at::Tensor& of_value) const {
        for (const at::Tensor* out : {&of_query, &of_key, &of_value}) out->zero_();
        s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
            const AllowedAttention::Gradients gradients = of(q, k).backward(s.of_query(grad, q));
            s.of_query(of_query, q).copy_(gradients.query);
            s.of_key(of_key, k).copy_(gradients.key);
            s.of_key(of_value, k).copy_(gradients.value);
        });
    }
};

at::Tensor with_features(const at::Tensor& tensor, const OptTensor& rope) {
    return given(rope) ? at::cat({tensor, *rope}, -1) : tensor;
}
Expected with_last(const at::Tensor& tensor, const OptTensor& like) {
    return with_size(tensor.sizes(), -1, given(like) ? size_of(*like, like->dim() - 1) : 0);
}
void require_rope(const OptTensor& query, const OptTensor& key) {
    if (given(query) != given(key)) refuse("keyRope", "a tensor if and only if there is queryRope", given(key) ? "one" : "none");
}
void give(const at::Tensor& gradient, const at::Tensor& of_tensor, const OptTensor& of_rope) {
    const int64_t features = of_tensor.size(-1), more = gradient.size(-1) - features;
    of_tensor.copy_(gradient.narrow(-1, 0, features));
    if (of_rope && more > 0) of_rope->copy_(gradient.narrow(-1, features, more));
}

// A key's bytes: its numbers, the features of rope in the query's type, and a FLOAT scale for each tile of the numbers.
struct PackedKey {
    int64_t numbers, rope, tile;

    PackedKey(int64_t bytes, int64_t rope, int64_t tile) : numbers((bytes - 2 * rope) * tile / (tile + 4)), rope(rope), tile(tile) {}
    bool fits(int64_t bytes) const { return numbers > 0 && numbers % tile == 0 && bytes == numbers + 2 * rope + numbers / tile * 4; }
    at::Tensor unpacked(const at::Tensor& key, at::ScalarType type) const {
        const at::Tensor scales =
            key.narrow(-1, numbers + 2 * rope, numbers / tile * 4).clone(at::MemoryFormat::Contiguous).view(at::kFloat);
        const at::Tensor values = key.narrow(-1, 0, numbers).to(at::kFloat) * scales.repeat_interleave(tile, -1);
        return at::cat({values, upcast(key.narrow(-1, numbers, 2 * rope).clone(at::MemoryFormat::Contiguous).view(type))}, -1);
    }
};
void require_packed_key(const at::Tensor& query, const at::Tensor& key, int64_t rope, int64_t tile) {
    const int64_t bytes = size_of(key, key.dim() - 1);
    const PackedKey packed(bytes, rope, tile);
    if (key.scalar_type() != at::kChar) refuse("key", "INT8", c10::str(key.scalar_type()));
    if (!packed.fits(bytes) || size_of(query, query.dim() - 1) != packed.numbers + rope)
        refuse("key", c10::str("the bytes of a key with ", rope, " features of rope and tiles of ", tile), shape_text(key.sizes()));
}
// The same with the query's features, which is what its bytes become.
NamedShape as_key(const at::Tensor& key, const at::Tensor& query, at::DimVector& sizes) {
    NamedShape shape("key", key);
    sizes = at::DimVector(key.sizes());
    sizes.back() = query.size(-1);
    shape.sizes = sizes;
    return shape;
}
void require_packed_sequences(const TokenSequences& s, const at::Tensor& query, const at::Tensor& key, int64_t rope, int64_t tile) {
    at::DimVector sizes;
    require_packed_key(query, key, rope, tile);
    s.require({"query", query}, as_key(key, query, sizes));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using AbsorbedMode = Between<int64_t, 2, 2>;  // the query and the key with their features of rope
using TileMode = Between<int64_t, 2, 2>;      // a scale for each tile of numbers
using CombinedMode = Between<int64_t, 1, 1>;  // the scales lie behind the numbers
}  // namespace torch_aclnn::host::aten::kind

#define SPARSE_SEQUENCES                                                                                                          \
    TokenSequences{layoutQuery,         layoutKv, actualSeqLengthsQuery, actualSeqLengthsKv, blockTable, "actualSeqLengthsQuery", \
                   "actualSeqLengthsKv"}
#define REQUIRE_SPARSE (SPARSE_SEQUENCES.require({"query", query}, {"key", key}), require_rope(queryRope, keyRope))
#define CHOSEN (In, sparseIndices, like_queries(query, key.size(-2), size_of(sparseIndices, sparseIndices.dim() - 1)))
#define SPARSE_INPUTS                                                                                                              \
    (In, query), (In, key), (In, value, with_size(key.sizes(), -1, size_of(value, value.dim() - 1))), CHOSEN, (OptIn, blockTable), \
        (OptIn, actualSeqLengthsQuery), (OptIn, actualSeqLengthsKv), (OptIn, queryRope, or_empty(with_last(query, queryRope))),    \
        (OptIn, keyRope, or_empty(with_last(key, queryRope)))
#define SPARSE_ATTRIBUTES                                                                                                           \
    (Double, scaleValue), (Positive, sparseBlockSize), (QueryLayout, layoutQuery), (KeyLayout, layoutKv), (CausalMode, sparseMode), \
        (NoDistance, preTokens), (NoDistance, nextTokens), (AbsorbedMode, attentionMode), (Bool, returnSoftmaxLse)
#define SPARSE_OUTPUTS                                                              \
    (Out, attentionOut, like_queries(query, query.size(-2), value.size(-1))),       \
        (OptOut, softmaxMax, if_wanted(returnSoftmaxLse, by_key_head(query, key))), \
        (OptOut, softmaxSum, if_wanted(returnSoftmaxLse, by_key_head(query, key)))

namespace {

void sparse_attention(const TokenSequences& s, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                      const at::Tensor& indices, int64_t block, double scale, int64_t mode, const OptTensor& sinks, const at::Tensor& out,
                      const OptTensor& max, const OptTensor& sum) {
    SparseAttention{query, key, value, indices, block, scale, mode, sinks, s}.forward(out, max, sum);
}

}  // namespace

#define COMPUTE_SPARSE(sinks)                                                                                                    \
    sparse_attention(SPARSE_SEQUENCES, with_features(query, queryRope), with_features(key, keyRope), value, sparseIndices,       \
                     sparseBlockSize, scaleValue, sparseMode, sinks, attentionOut, returnSoftmaxLse ? softmaxMax : std::nullopt, \
                     returnSoftmaxLse ? softmaxSum : std::nullopt)

ATEN_CHECKED_ENTRY(aclnnSparseFlashAttention, FLOAT16 | BF16, REQUIRE_SPARSE, SPARSE_INPUTS, SPARSE_ATTRIBUTES, SPARSE_OUTPUTS) {
    COMPUTE_SPARSE(std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnSparseFlashAttentionV2, FLOAT16 | BF16, REQUIRE_SPARSE, SPARSE_INPUTS, (OptIn, sinks, shape({query.size(-2)})),
                   SPARSE_ATTRIBUTES, SPARSE_OUTPUTS) {
    COMPUTE_SPARSE(sinks);
}
ATEN_CHECKED_ENTRY(aclnnSparseFlashAttentionGrad, FLOAT16 | BF16,
                   ((TokenSequences{layout, layout, actualSeqQlen, actualSeqKvlen, std::nullopt, "actualSeqQlen", "actualSeqKvlen"}.require(
                        {"query", query}, {"key", key})),
                    require_rope(queryRope, keyRope)),
                   (In, query), (In, key), (In, value, with_size(key.sizes(), -1, size_of(value, value.dim() - 1))), CHOSEN,
                   (In, dOut, like_queries(query, query.size(-2), value.size(-1))),
                   (In, out, like_queries(query, query.size(-2), value.size(-1))), (In, softmaxMax, by_key_head(query, key)),
                   (In, softmaxSum, by_key_head(query, key)), (OptIn, actualSeqQlen), (OptIn, actualSeqKvlen),
                   (OptIn, queryRope, or_empty(with_last(query, queryRope))), (OptIn, keyRope, or_empty(with_last(key, queryRope))),
                   (Double, scaleValue), (Positive, sparseBlockSize), (QueryLayout, layout), (CausalMode, sparseMode),
                   (NoDistance, preTokens), (NoDistance, nextTokens), (Bool, deterministic), (Out, dQuery, like(query)),
                   (Out, dKey, like(key)), (Out, dValue, like(value)), (OptOut, dQueryRope, or_empty(with_last(query, queryRope))),
                   (OptOut, dKeyRope, or_empty(with_last(key, queryRope)))) {
    const TokenSequences s{layout, layout, actualSeqQlen, actualSeqKvlen, std::nullopt, "actualSeqQlen", "actualSeqKvlen"};
    const at::Tensor q = with_features(query, queryRope), k = with_features(key, keyRope);
    const at::Tensor of_query = at::empty(q.sizes(), at::kFloat), of_key = at::empty(k.sizes(), at::kFloat);
    SparseAttention{q, k, value, sparseIndices, sparseBlockSize, scaleValue, sparseMode, std::nullopt, s}.backward(dOut, of_query, of_key,
                                                                                                                   dValue);
    give(of_query, dQuery, dQueryRope);
    give(of_key, dKey, dKeyRope);
}

// The value is the key without the features of rope.
#define REQUIRE_PACKED_KEYS                                                                                            \
    (require_not_given("keyDequantScale", keyDequantScale), require_not_given("valueDequantScale", valueDequantScale), \
     require_packed_sequences(SPARSE_SEQUENCES, query, key, ropeHeadDim, tileSize))
#define PACKED_INPUTS                                                                                                       \
    (In, query), (In, key), (In, value), CHOSEN, (OptIn, keyDequantScale), (OptIn, valueDequantScale), (OptIn, blockTable), \
        (OptIn, actualSeqLengthsQuery), (OptIn, actualSeqLengthsKv)
#define PACKED_ATTRIBUTES                                                                                                                  \
    (Double, scaleValue), (TileMode, keyQuantMode), (TileMode, valueQuantMode), (Positive, sparseBlockSize), (QueryLayout, layoutQuery),   \
        (KeyLayout, layoutKv), (CausalMode, sparseMode), (NoDistance, preTokens), (NoDistance, nextTokens), (AbsorbedMode, attentionMode), \
        (CombinedMode, quantScaleRepoMode), (Positive, tileSize), (NotNegative, ropeHeadDim),                                              \
        (Out, attentionOut, like_queries(query, query.size(-2), query.size(-1) - ropeHeadDim))
#define COMPUTE_PACKED(sinks)                                                                                                        \
    const at::Tensor keys = PackedKey(key.size(-1), ropeHeadDim, tileSize).unpacked(key, query.scalar_type());                       \
    sparse_attention(SPARSE_SEQUENCES, query, keys, keys.narrow(-1, 0, keys.size(-1) - ropeHeadDim), sparseIndices, sparseBlockSize, \
                     scaleValue, sparseMode, sinks, attentionOut, std::nullopt, std::nullopt)
ATEN_CHECKED_ENTRY(aclnnKvQuantSparseFlashAttention, FLOAT16 | BF16, REQUIRE_PACKED_KEYS, PACKED_INPUTS, PACKED_ATTRIBUTES) {
    COMPUTE_PACKED(std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnKvQuantSparseFlashAttentionV2, FLOAT16 | BF16, REQUIRE_PACKED_KEYS, PACKED_INPUTS,
                   (OptIn, sinks, shape({query.size(-2)})), PACKED_ATTRIBUTES) {
    COMPUTE_PACKED(sinks);
}
