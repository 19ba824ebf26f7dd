// Native sparse attention in training: each token attends to compressed blocks of keys, and to those blocks of the keys that get the most
// of it.
#include "engine/aten/composite/native_sparse_attention.h"

#define ATEN_FAMILY "sparse attention"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;
using OptLengths = std::optional<std::vector<int64_t>>;

// Calls `use` with the first position of each sequence, its length, and the number of its first block.
void for_each_end(at::IntArrayRef ends, const Blocks& blocks, const std::function<void(int64_t, int64_t, int64_t)>& use) {
    int64_t first = 0, block = 0;
    for (const int64_t end : ends) {
        if (blocks.count(end - first) > 0) use(first, end - first, block);
        block += blocks.count(end - first);
        first = end;
    }
}
int64_t all_blocks(at::IntArrayRef ends, const Blocks& blocks) {
    int64_t count = 0, first = 0;
    for (const int64_t end : ends) {
        count += blocks.count(end - first);
        first = end;
    }
    return count;
}
void require_block_ends(at::IntArrayRef ends, const at::Tensor& input) {
    const bool rising = std::is_sorted(ends.begin(), ends.end()) && (ends.empty() || ends.front() >= 0);
    if (input.dim() == 3 && (!rising || (!ends.empty() && ends.back() > input.size(0))))
        refuse("actSeqLen", c10::str("rising numbers up to ", input.size(0)), c10::str(ends));
}

at::Tensor cut(const at::Tensor& mask, int64_t rows, int64_t columns) {
    return mask.narrow(-2, 0, rows).narrow(-1, 0, columns).to(at::kBool);
}
// Eight equal numbers for each token and head.
void write_statistic(const at::Tensor& out, const at::Tensor& numbers) {
    out.copy_(numbers.transpose(0, 1).expand_as(out));
}
Expected statistics_of_token(const at::Tensor& query) {
    return shape({query.size(0), query.size(1), 8});
}

TokenSequences packed_sequences(const OptLengths& query, const OptLengths& key, const char* key_name) {
    return {"TND", "TND", lengths_tensor(query), lengths_tensor(key), std::nullopt, "actualSeqQLen", key_name};
}
int64_t length_of(at::IntArrayRef ends, size_t sequence) {
    return ends[sequence] - (sequence == 0 ? 0 : ends[sequence - 1]);
}
// Of each sequence as many as its compressed blocks need.
void require_selected_blocks(at::IntArrayRef queries, at::IntArrayRef compressed, at::IntArrayRef selected, const Blocks& blocks,
                             int64_t size) {
    require_as_many({{"actualSelSeqKvLen", selected}}, {"actualSeqQLen", queries});
    require_selectable(blocks, size);
    const int64_t each = size / blocks.stride;
    for (size_t i = 0; i < selected.size(); ++i) {
        const int64_t keys = length_of(compressed, i), needed = keys / each + (keys % each != 0), got = length_of(selected, i);
        if (got != needed)
            refuse("actualSelSeqKvLen", c10::str(needed, " blocks more for the ", keys, " compressed ones of sequence ", i), c10::str(got));
    }
}
void require_heads(const at::Tensor& query, int64_t heads) {
    if (query.dim() >= 2 && query.size(-2) != heads) refuse("headNum", std::to_string(query.size(-2)), std::to_string(heads));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using SelectedMode = Between<int64_t, 0, 2>;
}  // namespace torch_aclnn::host::aten::kind

#define BLOCK_WEIGHT (In, weight, shape({compressBlockSize, input.size(1)}))

ATEN_CHECKED_ENTRY(aclnnNsaCompress, FLOAT16 | BF16, require_block_ends(actSeqLen, input), (In, input, rank(3)), BLOCK_WEIGHT,
                   (Ints, actSeqLen), (PackedOnly, layout), (Positive, compressBlockSize), (Positive, compressStride),
                   (EndsType, actSeqLenType),
                   (Out, output, Expected({all_blocks(actSeqLen, BLOCKS), input.size(1), input.size(2)}, input.scalar_type()))) {
    const at::Tensor weights = upcast(weight).t().unsqueeze(1);  // {heads, 1, size}
    for_each_end(actSeqLen, BLOCKS, [&](int64_t first, int64_t length, int64_t block) {
        const at::Tensor blocks = BLOCKS.of(upcast(input.narrow(0, first, length)));
        output.narrow(0, block, blocks.size(0)).copy_((blocks * weights).sum(3));
    });
}
ATEN_CHECKED_ENTRY(aclnnNsaCompressGrad, FLOAT16 | BF16, require_block_ends(actSeqLen, input),
                   (In, outputGrad, shape({all_blocks(actSeqLen, BLOCKS), size_of(outputGrad, 1), size_of(outputGrad, 2)})),
                   (In, input, Expected({size_of(input, 0), outputGrad.size(1), outputGrad.size(2)})), BLOCK_WEIGHT, (Ints, actSeqLen),
                   (Positive, compressBlockSize), (Positive, compressStride), (EndsType, actSeqLenType), (PackedOnly, layout),
                   (Out, inputGrad, like(input)), (Out, weightGrad, like(weight))) {
    at::Tensor of_input = at::zeros(input.sizes(), at::kFloat), of_weight = at::zeros(weight.sizes(), at::kFloat);
    for_each_end(actSeqLen, BLOCKS, [&](int64_t first, int64_t length, int64_t block) {
        const at::Tensor blocks = BLOCKS.of(upcast(input.narrow(0, first, length)));
        const at::Tensor grad = upcast(outputGrad.narrow(0, block, blocks.size(0)));
        of_weight += (blocks * grad.unsqueeze(3)).sum(at::IntArrayRef({0, 2})).t();
        const at::Tensor starts = first + at::arange(blocks.size(0)) * compressStride;
        for (int64_t i = 0; i < compressBlockSize; i++) of_input.index_add_(0, starts + i, grad * upcast(weight[i]).unsqueeze(1));
    });
    write(inputGrad, of_input);
    write(weightGrad, of_weight);
}
#define COMPRESSED_SEQUENCES packed_sequences(actualSeqQLen, actualCmpSeqKvLen, "actualCmpSeqKvLen")
ATEN_CHECKED_ENTRY(aclnnNsaCompressAttention, FLOAT16 | BF16,
                   (COMPRESSED_SEQUENCES.require({"query", query}, {"key", key}), require_values(key, value), require_heads(query, headNum),
                    require_selected_blocks(*actualSeqQLen, *actualCmpSeqKvLen, actualSelSeqKvLen, BLOCKS, selectBlockSize)),
                   (In, query), (In, key), (In, value), (OptIn, attenMask, rank(2)), (OptIn, topkMask, rank(2)), (OptInts, actualSeqQLen),
                   (OptInts, actualCmpSeqKvLen), (Ints, actualSelSeqKvLen), (Double, scaleValue), (Positive, headNum),
                   (PackedOnly, inputLayout), (TrueOrNot, sparseMode), (Positive, compressBlockSize), (Positive, compressStride),
                   (Positive, selectBlockSize), (Positive, selectBlockCount), (Out, softmaxMax, statistics_of_token(query)),
                   (Out, softmaxSum, statistics_of_token(query)), (Out, attentionOut, like_queries(query, query.size(1), value.size(2))),
                   (Out, topkIndices, like_queries(query, key.size(1), selectBlockCount))) {
    const TokenSequences s = COMPRESSED_SEQUENCES;
    for (const at::Tensor* out : {&softmaxMax, &softmaxSum, &attentionOut}) out->zero_();
    topkIndices.fill_(-1);
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        const at::Tensor hidden = attenMask ? cut(*attenMask, q.length, k.length) : at::zeros({q.length, k.length}, at::kBool);
        const AllowedAttention a(s.of_query(query, q), s.of_key(key, k), s.of_key(value, k), hidden.logical_not(), scaleValue);
        s.of_query(attentionOut, q).copy_(a.result());
        write_statistic(s.of_query(softmaxMax, q), a.maximum);
        write_statistic(s.of_query(softmaxSum, q), a.sum);
        const int64_t blocks = length_of(actualSelSeqKvLen, q.batch);
        at::Tensor scores = importance(a.probabilities, key.size(1), blocks, BLOCKS, selectBlockSize);
        if (topkMask) scores = scores.masked_fill(cut(*topkMask, q.length, blocks), std::numeric_limits<float>::max());
        write_largest(scores, s.of_query(topkIndices, q));
    });
}
#define SELECTED_SEQUENCES packed_sequences(actualSeqQLen, actualSeqKvLen, "actualSeqKvLen")
#define REQUIRE_SELECTED \
    (SELECTED_SEQUENCES.require({"query", query}, {"key", key}), require_values(key, value), require_heads(query, headNum))
#define SELECTED                                                               \
    SelectedAttention {                                                        \
        query, key, value, topkIndices, attenMask, selectBlockSize, scaleValue \
    }
#define PLACES (In, topkIndices, like_queries(query, key.size(1), selectBlockCount))
ATEN_CHECKED_ENTRY(aclnnNsaSelectedAttention, FLOAT16 | BF16, REQUIRE_SELECTED, (In, query), (In, key), (In, value), PLACES,
                   (OptIn, attenMask), (OptInts, actualSeqQLen), (OptInts, actualSeqKvLen), (Double, scaleValue), (Positive, headNum),
                   (PackedOnly, inputLayout), (SelectedMode, sparseMode), (Positive, selectBlockSize), (Positive, selectBlockCount),
                   (Out, softmaxMax, statistics_of_token(query)), (Out, softmaxSum, statistics_of_token(query)),
                   (Out, attentionOut, like_queries(query, query.size(1), value.size(2)))) {
    const TokenSequences s = SELECTED_SEQUENCES;
    for (const at::Tensor* out : {&softmaxMax, &softmaxSum, &attentionOut}) out->zero_();
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention a = SELECTED.of(s, q, k);
        s.of_query(attentionOut, q).copy_(a.result());
        write_statistic(s.of_query(softmaxMax, q), a.maximum);
        write_statistic(s.of_query(softmaxSum, q), a.sum);
    });
}
ATEN_CHECKED_ENTRY(aclnnNsaSelectedAttentionGrad, FLOAT16 | BF16, REQUIRE_SELECTED, (In, query), (In, key), (In, value),
                   (In, attentionOut, like_queries(query, query.size(1), value.size(2))), (In, attentionOutGrad, shaped_like(attentionOut)),
                   (In, softmaxMax, statistics_of_token(query)), (In, softmaxSum, statistics_of_token(query)), PLACES,
                   (OptInts, actualSeqQLen), (OptInts, actualSeqKvLen), (OptIn, attenMask), (Double, scaleValue),
                   (Positive, selectBlockSize), (Positive, selectBlockCount), (Positive, headNum), (PackedOnly, inputLayout),
                   (SelectedMode, sparseMode), (Out, queryGrad, like(query)), (Out, keyGrad, like(key)), (Out, valueGrad, like(value))) {
    const TokenSequences s = SELECTED_SEQUENCES;
    for (const at::Tensor* out : {&queryGrad, &keyGrad, &valueGrad}) out->zero_();
    s.for_each(query, key, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention::Gradients of = SELECTED.of(s, q, k).backward(s.of_query(attentionOutGrad, q));
        s.of_query(queryGrad, q).copy_(of.query);
        s.of_key(keyGrad, k).copy_(of.key);
        s.of_key(valueGrad, k).copy_(of.value);
    });
}
