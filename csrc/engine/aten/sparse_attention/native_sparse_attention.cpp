// Native sparse attention in training: each token attends to compressed blocks of keys, and to those blocks of the keys that get the most
// of it.
#include "engine/aten/sparse_attention/native_sparse_attention.h"

#include "vocabulary/sparse_attention/native_sparse_attention_calls.h"

// Calls `use` with the first position of each sequence, its length, and the number of its first block.
static void for_each_end(at::IntArrayRef ends, const Blocks& blocks, const std::function<void(int64_t, int64_t, int64_t)>& use) {
    int64_t first = 0, block = 0;
    for (const int64_t end : ends) {
        if (blocks.count(end - first) > 0) use(first, end - first, block);
        block += blocks.count(end - first);
        first = end;
    }
}
static int64_t all_blocks(at::IntArrayRef ends, const Blocks& blocks) {
    int64_t count = 0;
    for_each_end(ends, blocks, [&](int64_t, int64_t length, int64_t) { count += blocks.count(length); });
    return count;
}

static at::Tensor cut(const at::Tensor& mask, int64_t rows, int64_t columns) {
    return mask.narrow(-2, 0, rows).narrow(-1, 0, columns).to(at::kBool);
}
// Writes eight equal numbers for each token and head.
static void write_statistic(const at::Tensor& out, const at::Tensor& numbers) {
    out.copy_(numbers.transpose(0, 1).expand_as(out));
}
static Expected statistics_of_token(const at::Tensor& query) {
    return shape({query.size(0), query.size(1), 8});
}

static TokenSequences packed_sequences(const OptNumbers& query, const OptNumbers& key, const char* key_name) {
    return {"TND", "TND", lengths_tensor(query), lengths_tensor(key), std::nullopt, "actualSeqQLen", key_name};
}
static int64_t length_of(at::IntArrayRef ends, size_t sequence) {
    return ends[sequence] - (sequence == 0 ? 0 : ends[sequence - 1]);
}

static TokenSequences selected_sequences(const auto& a) {
    return packed_sequences(a.actualSeqQLen, a.actualSeqKvLen, "actualSeqKvLen");
}
static void require_selected(const auto& a) {
    selected_sequences(a).require({"query", a.query}, {"key", a.key});
    require_between("headNum", a.headNum, a.query.size(1), a.query.size(1));
}
static SelectedAttention selected_attention(const auto& a) {
    return {a.query, a.key, a.value, a.topkIndices, a.attenMask, a.selectBlockSize, a.scaleValue};
}

static void compute(const call::NsaCompress& a) {
    const at::Tensor weights = upcast(a.weight).t().unsqueeze(1);  // {heads, 1, size}
    for_each_end(a.actSeqLen, compressed_blocks(a), [&](int64_t first, int64_t length, int64_t block) {
        const at::Tensor blocks = compressed_blocks(a).of(upcast(a.input.narrow(0, first, length)));
        a.output.narrow(0, block, blocks.size(0)).copy_((blocks * weights).sum(3));
    });
}
static void compute(const call::NsaCompressGrad& a) {
    at::Tensor of_input = at::zeros(a.input.sizes(), at::kFloat), of_weight = at::zeros(a.weight.sizes(), at::kFloat);
    for_each_end(a.actSeqLen, compressed_blocks(a), [&](int64_t first, int64_t length, int64_t block) {
        const at::Tensor blocks = compressed_blocks(a).of(upcast(a.input.narrow(0, first, length)));
        const at::Tensor grad = upcast(a.outputGrad.narrow(0, block, blocks.size(0)));
        of_weight += (blocks * grad.unsqueeze(3)).sum(at::IntArrayRef({0, 2})).t();
        const at::Tensor starts = first + at::arange(blocks.size(0)) * a.compressStride;
        for (int64_t i = 0; i < a.compressBlockSize; i++) of_input.index_add_(0, starts + i, grad * upcast(a.weight[i]).unsqueeze(1));
    });
    write(a.inputGrad, of_input);
    write(a.weightGrad, of_weight);
}

static TokenSequences compressed_sequences(const call::NsaCompressAttention& a) {
    return packed_sequences(a.actualSeqQLen, a.actualCmpSeqKvLen, "actualCmpSeqKvLen");
}
static void check(const call::NsaCompressAttention& a) {
    compressed_sequences(a).require({"query", a.query}, {"key", a.key});
    require_between("headNum", a.headNum, a.query.size(1), a.query.size(1));
    require_as_many({{"actualSelSeqKvLen", a.actualSelSeqKvLen}}, {"actualSeqQLen", *a.actualSeqQLen});
    require_selectable(compressed_blocks(a), a.selectBlockSize);
    // The number of selected blocks of a sequence follows from that of its compressed blocks.
    const int64_t each = a.selectBlockSize / a.compressStride;
    for (size_t i = 0; i < a.actualSelSeqKvLen.size(); ++i) {
        const int64_t keys = length_of(*a.actualCmpSeqKvLen, i), needed = keys / each + (keys % each != 0);
        if (const int64_t got = length_of(a.actualSelSeqKvLen, i); got != needed)
            refuse("actualSelSeqKvLen", c10::str(needed, " blocks more for the ", keys, " compressed ones of sequence ", i), c10::str(got));
    }
}
static void compute(const call::NsaCompressAttention& a) {
    const TokenSequences s = compressed_sequences(a);
    for (const at::Tensor* out : {&a.softmaxMax, &a.softmaxSum, &a.attentionOut}) out->zero_();
    a.topkIndices.fill_(-1);
    s.for_each(a.query, a.key, [&](const TokenSpan& q, const TokenSpan& k) {
        const at::Tensor hidden = a.attenMask ? cut(*a.attenMask, q.length, k.length) : at::zeros({q.length, k.length}, at::kBool);
        const AllowedAttention allowed(s.of_query(a.query, q), s.of_key(a.key, k), s.of_key(a.value, k), hidden.logical_not(),
                                       a.scaleValue);
        s.of_query(a.attentionOut, q).copy_(allowed.result());
        write_statistic(s.of_query(a.softmaxMax, q), allowed.maximum);
        write_statistic(s.of_query(a.softmaxSum, q), allowed.sum);
        const int64_t blocks = length_of(a.actualSelSeqKvLen, q.batch);
        at::Tensor scores = importance(allowed.probabilities, a.key.size(1), blocks, compressed_blocks(a), a.selectBlockSize);
        if (a.topkMask) scores = scores.masked_fill(cut(*a.topkMask, q.length, blocks), std::numeric_limits<float>::max());
        write_largest(scores, s.of_query(a.topkIndices, q));
    });
}
static void compute(const call::NsaSelectedAttention& a) {
    const TokenSequences s = selected_sequences(a);
    for (const at::Tensor* out : {&a.softmaxMax, &a.softmaxSum, &a.attentionOut}) out->zero_();
    s.for_each(a.query, a.key, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention allowed = selected_attention(a).of(s, q, k);
        s.of_query(a.attentionOut, q).copy_(allowed.result());
        write_statistic(s.of_query(a.softmaxMax, q), allowed.maximum);
        write_statistic(s.of_query(a.softmaxSum, q), allowed.sum);
    });
}
static void compute(const call::NsaSelectedAttentionGrad& a) {
    const TokenSequences s = selected_sequences(a);
    for (const at::Tensor* out : {&a.queryGrad, &a.keyGrad, &a.valueGrad}) out->zero_();
    s.for_each(a.query, a.key, [&](const TokenSpan& q, const TokenSpan& k) {
        const AllowedAttention::Gradients of = selected_attention(a).of(s, q, k).backward(s.of_query(a.attentionOutGrad, q));
        s.of_query(a.queryGrad, q).copy_(of.query);
        s.of_key(a.keyGrad, k).copy_(of.key);
        s.of_key(a.valueGrad, k).copy_(of.value);
    });
}
