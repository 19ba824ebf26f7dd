// Native sparse attention in inference, to keys in pages.
#include "engine/aten/sparse_attention/native_sparse_attention.h"
#include "vocabulary/sparse_attention/native_sparse_inference_calls.h"

namespace {

// Tensors of inference, as {batch, positions, heads, features} and {blocks, positions, heads, features}. The layout TND has one query for
// each sequence: the engine has no lengths of them.
struct InferredTokens {
    std::string_view layout;
    int64_t heads, key_heads;

    at::Tensor query(const at::Tensor& x) const {
        return layout == "BSH" ? x.unflatten(2, at::IntArrayRef{heads, -1}) : layout == "TND" ? x.unsqueeze(1) : x;
    }
    at::Tensor pages(const at::Tensor& x) const { return x.dim() == 3 ? x.unflatten(2, at::IntArrayRef{key_heads, -1}) : x; }
    // The numbers are for each query and key head; the layout of the query may have fewer dimensions.
    at::Tensor choice(const at::Tensor& x) const { return x.dim() == 3 ? x.unsqueeze(1) : x; }
    TokenSequences sequences(const OptNumbers& query_lengths, const OptNumbers& key_lengths, const OptTensor& table,
                             const char* key_name) const {
        return {"BSND", "PA_BSND", lengths_tensor(query_lengths), lengths_tensor(key_lengths), table, "actualQSeqLen", key_name};
    }
    void require(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const TokenSequences& s) const {
        if (layout == "TND" && s.query_lengths)
            refuse("actualQSeqLen", "null for TND: the engine has none", shape_text(s.query_lengths->sizes()));
        if (query.dim() != (layout == "BSND" ? 4 : 3)) refuse("query", c10::str("the dimensions ", layout), shape_text(query.sizes()));
        if (layout == "BSH" && query.size(2) % heads != 0) refuse("query", c10::str(heads, " heads"), shape_text(query.sizes()));
        if (layout != "BSH" && query.size(-2) != heads) refuse("query", c10::str(heads, " heads"), shape_text(query.sizes()));
        for (const at::Tensor* cache : {&key, &value})
            if ((cache->dim() != 3 && cache->dim() != 4) || cache->size(2) % key_heads != 0 ||
                (cache->dim() == 4 && cache->size(2) != key_heads))
                refuse(cache == &key ? "key" : "value", c10::str("pages of ", key_heads, " heads"), shape_text(cache->sizes()));
        require_expected("value", pages(value), with_size(pages(key).sizes(), -1, kAny));
        s.require({"query", this->query(query)}, {"key", pages(key)});
    }
    Expected result(const at::Tensor& query, const at::Tensor& value) const {
        const int64_t features = pages(value).size(3);
        return with_size(query.sizes(), -1, layout == "BSH" ? heads * features : features);
    }
    // Each query has the indices of its blocks; the dimension of positions may be omitted if there is one.
    Either named(const at::Tensor& query, int64_t count) const {
        const at::Tensor tokens = this->query(query);
        const Expected all = shape({tokens.size(0), tokens.size(1), key_heads, count});
        return either(all, tokens.size(1) == 1 ? shape({tokens.size(0), key_heads, count}) : all);
    }
    Expected chosen(const at::Tensor& query, int64_t count) const {
        if (query.dim() == 3) return shape({query.size(0), key_heads, count});
        return shape({query.size(0), query.size(1), key_heads, count});
    }
};

}  // namespace

static InferredTokens inferred_tokens(const auto& a) {
    return {a.layout, a.headNum, a.keyValueHeadNum};
}

// A sequence whose last positions are a whole block has a compressed key more.
static void compute(const call::NsaCompressWithCache& a) {
    const TokenSequences pages{"BSND", "PA_BSND", std::nullopt, std::nullopt, a.blockTable, "", ""};
    for (size_t i = 0; i < a.actSeqLen.size(); i++) {
        const int64_t length = a.actSeqLen[i], place = a.slotMapping[i].item<int64_t>();
        if (length < a.compressBlockSize || (length - a.compressBlockSize) % a.compressStride != 0) continue;
        require_range("slotMapping", a.slotMapping[i], 0, a.outputCacheRef.size(0));
        require_range("actSeqLen", at::tensor(length, at::kLong), 0, a.blockTable.size(1) * a.pageBlockSize + 1);
        const at::Tensor rows = pages.of_key(a.input, {static_cast<int64_t>(i), 0, length});
        const at::Tensor last = upcast(rows.narrow(0, length - a.compressBlockSize, a.compressBlockSize));
        a.outputCacheRef[place].copy_((last * upcast(a.weight).unsqueeze(2)).sum(0));
    }
}

static void check(const call::NsaCompressAttentionInfer& a) {
    require_not_given({{"attenMask", a.attenMask}, {"topkMask", a.topkMask}});
    require_selectable(compressed_blocks(a), a.selectBlockSize);
    const InferredTokens tokens{a.layout, a.headNum, a.keyValueHeadNum};
    tokens.require(a.query, a.key, a.value, tokens.sequences(a.actualQSeqLen, a.actualCmpKvSeqLen, a.blockTable, "actualCmpKvSeqLen"));
}
static void compute(const call::NsaCompressAttentionInfer& a) {
    const InferredTokens tokens{a.layout, a.headNum, a.keyValueHeadNum};
    const TokenSequences s = tokens.sequences(a.actualQSeqLen, a.actualCmpKvSeqLen, a.blockTable, "actualCmpKvSeqLen");
    const at::Tensor queries = tokens.query(a.query), keys = tokens.pages(a.key), out = tokens.query(a.output),
                     chosen = tokens.choice(a.topkOut);
    a.output.zero_();
    a.topkOut.fill_(-1);
    s.for_each(queries, keys, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention allowed(s.of_query(queries, q), s.of_key(keys, k), s.of_key(tokens.pages(a.value), k),
                                       at::ones({q.length, k.length}, at::kBool), a.scaleValue);
        s.of_query(out, q).copy_(allowed.result());
        const int64_t positions = (k.length - 1) * a.compressStride + a.compressBlockSize;
        const int64_t blocks = (positions + a.selectBlockSize - 1) / a.selectBlockSize;
        const at::Tensor scores = importance(allowed.probabilities, a.keyValueHeadNum, blocks, compressed_blocks(a), a.selectBlockSize);
        for (const int64_t place : {int64_t{0}, std::max<int64_t>(blocks - 2, 0), blocks - 1})
            scores.select(2, place).fill_(std::numeric_limits<float>::max());
        write_largest(scores, s.of_query(chosen, q));
    });
}

static void compute(const call::NsaSelectedAttentionInfer& a) {
    const InferredTokens tokens{a.layout, a.headNum, a.keyValueHeadNum};
    const TokenSequences s = tokens.sequences(a.actualQSeqLen, a.actualKvSeqLen, a.blockTable, "actualKvSeqLen");
    const at::Tensor queries = tokens.query(a.query), keys = tokens.pages(a.key), values = tokens.pages(a.value),
                     out = tokens.query(a.output);
    const at::Tensor places = tokens.choice(a.topkIndices);
    a.output.zero_();
    s.for_each(queries, keys, [&](const TokenSpan& q, const TokenSpan& k) {
        const SelectedAttention selected{queries, keys, values, places, a.attenMask, a.selectBlockSize, a.scaleValue};
        s.of_query(out, q).copy_(selected.of(s, q, k).result());
    });
}
