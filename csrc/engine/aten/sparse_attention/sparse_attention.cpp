// Attention to the keys that an index has chosen for each token, of which those of an absorbed latent attention have features of rope.
#include "engine/aten/sparse_attention/multiple_sequences.h"
#include "vocabulary/sparse_attention/sparse_attention_calls.h"

namespace {

struct SparseAttention {
    const at::Tensor &query, &key, &value, &indices;  // query and key include the features of rope
    int64_t block;
    double scale;
    int64_t mode;
    OptTensor sinks;
    TokenSequences s;

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

TokenSequences sparse_sequences(const auto& a) {
    return {a.layoutQuery,           a.layoutKv,          a.actualSeqLengthsQuery, a.actualSeqLengthsKv, a.blockTable,
            "actualSeqLengthsQuery", "actualSeqLengthsKv"};
}

}  // namespace

static void compute(const call::SparseFlashAttention& a) {
    const at::Tensor query = with_features(a.query, a.queryRope), key = with_features(a.key, a.keyRope);
    SparseAttention{query, key, a.value, a.sparseIndices, a.sparseBlockSize, a.scaleValue, a.sparseMode, a.sinks, sparse_sequences(a)}
        .forward(a.attentionOut, a.returnSoftmaxLse ? a.softmaxMax : std::nullopt, a.returnSoftmaxLse ? a.softmaxSum : std::nullopt);
}

static TokenSequences trained_sequences(const call::SparseFlashAttentionGrad& a) {
    return {a.layout, a.layout, a.actualSeqQlen, a.actualSeqKvlen, std::nullopt, "actualSeqQlen", "actualSeqKvlen"};
}
static void compute(const call::SparseFlashAttentionGrad& a) {
    const at::Tensor query = with_features(a.query, a.queryRope), key = with_features(a.key, a.keyRope);
    const at::Tensor of_query = at::empty(query.sizes(), at::kFloat), of_key = at::empty(key.sizes(), at::kFloat);
    SparseAttention{query, key, a.value, a.sparseIndices, a.sparseBlockSize, a.scaleValue, a.sparseMode, std::nullopt, trained_sequences(a)}
        .backward(a.dOut, of_query, of_key, a.dValue);
    give(of_query, a.dQuery, a.dQueryRope);
    give(of_key, a.dKey, a.dKeyRope);
}

static void check(const call::KvQuantSparseFlashAttention& a) {
    require_not_given({{"keyDequantScale", a.keyDequantScale}, {"valueDequantScale", a.valueDequantScale}});
    const int64_t rope = a.ropeHeadDim, bytes = size_of(a.key, -1), features = size_of(a.query, -1);
    const PackedKey packed(bytes, rope, a.tileSize);
    if (a.key.scalar_type() != at::kChar) refuse("key", "INT8", c10::str(a.key.scalar_type()));
    if (!packed.fits(bytes) || features != packed.numbers + rope)
        refuse("key", c10::str("the bytes of a key with ", rope, " features of rope and tiles of ", a.tileSize), shape_text(a.key.sizes()));
    // The shape of the keys that the bytes are converted to, which have the query's features.
    const Expected keys = with_size(a.key.sizes(), -1, features);
    NamedShape key("key", a.key);
    key.sizes = keys.sizes;
    sparse_sequences(a).require({"query", a.query}, key);
}
// The value is the key without the features of rope.
static void compute(const call::KvQuantSparseFlashAttention& a) {
    const at::Tensor key = PackedKey(a.key.size(-1), a.ropeHeadDim, a.tileSize).unpacked(a.key, a.query.scalar_type());
    const at::Tensor value = key.narrow(-1, 0, key.size(-1) - a.ropeHeadDim);
    SparseAttention{a.query, key, value, a.sparseIndices, a.sparseBlockSize, a.scaleValue, a.sparseMode, a.sinks, sparse_sequences(a)}
        .forward(a.attentionOut, std::nullopt, std::nullopt);
}
