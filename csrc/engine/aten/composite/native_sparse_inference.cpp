// Native sparse attention in inference, to keys in pages.
#include "engine/aten/composite/native_sparse_attention.h"

#define ATEN_FAMILY "sparse attention"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;
using OptLengths = std::optional<std::vector<int64_t>>;

// Tensors of inference, as {batch, positions, heads, features} and {blocks, positions, heads, features}. The layout TND has one query for
// each sequence: the engine has no lengths of them.
struct InferredTokens {
    std::string_view layout;
    int64_t heads, key_heads;

    at::Tensor query(const at::Tensor& x) const {
        return layout == "BSH" ? x.unflatten(2, at::IntArrayRef{heads, -1}) : layout == "TND" ? x.unsqueeze(1) : x;
    }
    at::Tensor pages(const at::Tensor& x) const { return x.dim() == 3 ? x.unflatten(2, at::IntArrayRef{key_heads, -1}) : x; }
    // Numbers of each query and key head; the layout of the query may have fewer dimensions.
    at::Tensor choice(const at::Tensor& x) const { return x.dim() == 3 ? x.unsqueeze(1) : x; }
    TokenSequences sequences(const OptLengths& query_lengths, const OptLengths& key_lengths, const OptTensor& table,
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
        require_values(pages(key), pages(value));
        s.require({"query", this->query(query)}, {"key", pages(key)});
    }
    Expected result(const at::Tensor& query, const at::Tensor& value) const {
        const int64_t features = pages(value).size(3);
        return with_size(query.sizes(), -1, layout == "BSH" ? heads * features : features);
    }
    // Blocks of each query; those of one position may come without it.
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

std::string_view read_token_layout(const char* name, const char* text) {
    return read_choice(name, text, {"TND", "BSND"});
}
std::string_view read_any_token_layout(const char* name, const char* text) {
    return read_choice(name, text, {"TND", "BSND", "BSH"});
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using TokenLayout = Kind<const char*, std::string_view, std::string_view, read_token_layout>;
using AnyTokenLayout = Kind<const char*, std::string_view, std::string_view, read_any_token_layout>;
using LengthsType = Between<int64_t, 1, 1>;  // or each for itself
}  // namespace torch_aclnn::host::aten::kind

// A sequence whose last positions are a whole block has a compressed key more.
ATEN_CHECKED_ENTRY(aclnnNsaCompressWithCache, FLOAT16 | BF16,
                   require_as_many({{"actSeqLen", actSeqLen}}, {"slotMapping", slotMapping.numel()}),
                   (In, input, shape({size_of(input, 0), pageBlockSize, size_of(input, 2), size_of(input, 3)})),
                   (In, weight, shape({compressBlockSize, input.size(2)})), (Indices, slotMapping, rank(1)), (Ints, actSeqLen),
                   (In, blockTable, shape({slotMapping.size(0), size_of(blockTable, 1)})), (PackedOnly, layout),
                   (Positive, compressBlockSize), (Positive, compressStride), (LengthsType, actSeqLenType), (Positive, pageBlockSize),
                   (InOut, outputCacheRef, shape({size_of(outputCacheRef, 0), input.size(2), input.size(3)}))) {
    const TokenSequences pages{"BSND", "PA_BSND", std::nullopt, std::nullopt, blockTable, "", ""};
    for (size_t i = 0; i < actSeqLen.size(); i++) {
        const int64_t length = actSeqLen[i], place = slotMapping[i].item<int64_t>();
        if (length < compressBlockSize || (length - compressBlockSize) % compressStride != 0) continue;
        require_range("slotMapping", slotMapping[i], 0, outputCacheRef.size(0));
        require_range("actSeqLen", at::tensor(length, at::kLong), 0, blockTable.size(1) * pageBlockSize + 1);
        const at::Tensor rows = pages.of_key(input, {static_cast<int64_t>(i), 0, length});
        const at::Tensor last = upcast(rows.narrow(0, length - compressBlockSize, compressBlockSize));
        outputCacheRef[place].copy_((last * upcast(weight).unsqueeze(2)).sum(0));
    }
}

// The first block and the last two are always chosen.
#define INFERRED(heads, key_heads) \
    InferredTokens {               \
        layout, heads, key_heads   \
    }
#define COMPRESSED_PAGES INFERRED(headNum, keyValueHeadNum).sequences(actualQSeqLen, actualCmpKvSeqLen, blockTable, "actualCmpKvSeqLen")
ATEN_CHECKED_ENTRY(aclnnNsaCompressAttentionInfer, FLOAT16 | BF16,
                   (require_not_given("attenMask", attenMask), require_not_given("topkMask", topkMask),
                    require_selectable(BLOCKS, selectBlockSize),
                    INFERRED(headNum, keyValueHeadNum).require(query, key, value, COMPRESSED_PAGES)),
                   (In, query), (In, key), (In, value), (OptIn, attenMask), (OptIn, blockTable), (OptInts, actualQSeqLen),
                   (OptInts, actualCmpKvSeqLen), (OptInts, actualSelKvSeqLen), (OptIn, topkMask), (Positive, headNum),
                   (Positive, keyValueHeadNum), (Positive, selectBlockSize), (Positive, selectBlockCount), (Positive, compressBlockSize),
                   (Positive, compressStride), (Double, scaleValue), (TokenLayout, layout), (Positive, pageBlockSize),
                   (EndsType, sparseMode), (Out, output, INFERRED(headNum, keyValueHeadNum).result(query, value)),
                   (Out, topkOut, INFERRED(headNum, keyValueHeadNum).chosen(query, selectBlockCount))) {
    const InferredTokens tokens = INFERRED(headNum, keyValueHeadNum);
    const TokenSequences s = COMPRESSED_PAGES;
    const at::Tensor queries = tokens.query(query), keys = tokens.pages(key), out = tokens.query(output), chosen = tokens.choice(topkOut);
    output.zero_();
    topkOut.fill_(-1);
    s.for_each(queries, keys, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention a(s.of_query(queries, q), s.of_key(keys, k), s.of_key(tokens.pages(value), k),
                                 at::ones({q.length, k.length}, at::kBool), scaleValue);
        s.of_query(out, q).copy_(a.result());
        const int64_t positions = (k.length - 1) * compressStride + compressBlockSize;
        const int64_t blocks = (positions + selectBlockSize - 1) / selectBlockSize;
        const at::Tensor scores = importance(a.probabilities, keyValueHeadNum, blocks, BLOCKS, selectBlockSize);
        for (const int64_t place : {int64_t{0}, std::max<int64_t>(blocks - 2, 0), blocks - 1})
            scores.select(2, place).fill_(std::numeric_limits<float>::max());
        write_largest(scores, s.of_query(chosen, q));
    });
}

#define SELECTED_PAGES INFERRED(headNum, keyValueHeadNum).sequences(actualQSeqLen, actualKvSeqLen, blockTable, "actualKvSeqLen")
ATEN_CHECKED_ENTRY(aclnnNsaSelectedAttentionInfer, FLOAT16 | BF16,
                   (require_not_given("attenMask", attenMask),
                    INFERRED(headNum, keyValueHeadNum).require(query, key, value, SELECTED_PAGES)),
                   (In, query), (In, key), (In, value),
                   (In, topkIndices, INFERRED(headNum, keyValueHeadNum).named(query, selectBlockCount)), (OptIn, attenMask),
                   (OptIn, blockTable), (OptInts, actualQSeqLen), (OptInts, actualKvSeqLen), (AnyTokenLayout, layout), (Positive, headNum),
                   (Positive, keyValueHeadNum), (Positive, selectBlockSize), (Positive, selectBlockCount), (Positive, pageBlockSize),
                   (Double, scaleValue), (EndsType, sparseMode), (Out, output, INFERRED(headNum, keyValueHeadNum).result(query, value))) {
    const InferredTokens tokens = INFERRED(headNum, keyValueHeadNum);
    const TokenSequences s = SELECTED_PAGES;
    const at::Tensor queries = tokens.query(query), keys = tokens.pages(key), values = tokens.pages(value), out = tokens.query(output);
    const at::Tensor places = tokens.choice(topkIndices);
    output.zero_();
    s.for_each(queries, keys, [&](const TokenSpan& q, const TokenSpan& k) {
        const SelectedAttention selected{queries, keys, values, places, attenMask, selectBlockSize, scaleValue};
        s.of_query(out, q).copy_(selected.of(s, q, k).result());
    });
}
