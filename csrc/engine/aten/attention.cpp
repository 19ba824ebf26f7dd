// Fused attention, which scaled_dot_product_attention and npu_fusion_attention use: softmax(scale * query key^T) value, with masks and
// dropout.
//
// Computed plainly, with the whole matrix of scores in memory, in float32 for half types. The backward computes the scores again.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/aten/adapter.h"
#include "engine/aten/dropout_mask.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace {

// Between a layout and BNSD: batch, heads, positions, features. The letter H is heads and features in one.
struct Layout {
    std::string_view name;
    int64_t heads;  // the query's

    at::Tensor to_bnsd(const at::Tensor& tensor, int64_t features) const {
        if (name == "BNSD") return wide(tensor);
        if (name == "BSND") return wide(tensor).transpose(1, 2);
        if (name == "BSH") return wide(tensor).unflatten(2, at::IntArrayRef{-1, features}).transpose(1, 2);
        return wide(tensor).unflatten(2, at::IntArrayRef{-1, features}).permute({1, 2, 0, 3});  // SBH
    }
    at::Tensor from_bnsd(const at::Tensor& tensor) const {
        if (name == "BNSD") return tensor;
        if (name == "BSND") return tensor.transpose(1, 2);
        return name == "BSH" ? tensor.transpose(1, 2).flatten(2) : tensor.permute({2, 0, 1, 3}).flatten(2);
    }
    // Features of a head: the key has as many as the query; the value may have others, but as many heads as the key.
    int64_t features(const at::Tensor& query) const { return name == "BNSD" || name == "BSND" ? query.size(3) : query.size(2) / heads; }
};

// Several heads of the query may share one of the key and value.
at::Tensor for_every_head(const at::Tensor& tensor, int64_t heads) {
    return tensor.repeat_interleave(heads / tensor.size(1), 1);
}
at::Tensor sum_of_heads(const at::Tensor& tensor, int64_t heads) {
    return tensor.unflatten(1, at::IntArrayRef{heads, -1}).sum(2);
}

// Which scores do not count. The modes that have a causal shape come with a mask of fixed size that says no more than that.
at::Tensor masked(int64_t rows, int64_t columns, const std::optional<at::Tensor>& mask, int64_t before, int64_t after, int64_t mode) {
    const at::Tensor distance = at::arange(columns) - at::arange(rows).unsqueeze(1);
    switch (mode) {
        case 0: return mask ? mask->to(at::kBool).logical_or(distance > after).logical_or(distance < -before) : at::zeros({}, at::kBool);
        case 1: return mask ? mask->to(at::kBool) : at::zeros({}, at::kBool);
        case 2: return distance > 0;
        default: return distance > columns - rows;
    }
}

// What the options of the entry points have in common.
struct Options {
    std::optional<at::Tensor> drop_mask, mask;
    double scale, keep_probability;
    int64_t before, after, mode;
    int64_t first_drop_bit = 0;
};

struct Attention {
    at::Tensor query, key, value, keep;  // BNSD; keep: what dropout multiplies the probabilities by
    at::Tensor maximum, sum, probabilities;
};

Attention attend(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Options& o) {
    Attention a;
    const int64_t features = layout.features(query);
    a.query = layout.to_bnsd(query, features);
    const at::Tensor few_keys = layout.to_bnsd(key, features);
    const int64_t value_features = layout.name == "BNSD" || layout.name == "BSND" ? value.size(3) : value.size(2) / few_keys.size(1);
    a.key = for_every_head(few_keys, layout.heads);
    a.value = for_every_head(layout.to_bnsd(value, value_features), layout.heads);

    at::Tensor scores = at::matmul(a.query, a.key.transpose(2, 3)) * o.scale;
    scores = scores.masked_fill(masked(scores.size(2), scores.size(3), o.mask, o.before, o.after, o.mode), -INFINITY);
    a.maximum = scores.amax(3, true);
    // A row of which nothing counts has no probabilities.
    const at::Tensor powers = at::exp(scores - a.maximum.masked_fill(a.maximum == -INFINITY, 0));
    a.sum = powers.sum(3, true);
    a.probabilities = powers / a.sum.clamp_min(std::numeric_limits<float>::min());
    a.keep = at::ones({}, scores.options());
    if (o.drop_mask && o.drop_mask->numel() > 0) {
        const at::Tensor bits = unpacked_dropout_mask(*o.drop_mask, {o.first_drop_bit + scores.numel()});
        a.keep = bits.narrow(0, o.first_drop_bit, scores.numel()).reshape(scores.sizes()).to(scores.scalar_type()) / o.keep_probability;
    }
    return a;
}

at::Tensor attended(const Layout& layout, const Attention& a) {
    return layout.from_bnsd(at::matmul(a.probabilities * a.keep, a.value));
}

struct Gradients {
    at::Tensor query, key, value;
};

Gradients attend_backward(const Layout& layout, const Attention& a, int64_t key_heads, const at::Tensor& dy, double scale) {
    const at::Tensor grad = layout.to_bnsd(dy, a.value.size(3));
    const at::Tensor of_probabilities = at::matmul(grad, a.value.transpose(2, 3)) * a.keep;
    const at::Tensor of_scores = a.probabilities * (of_probabilities - (of_probabilities * a.probabilities).sum(3, true)) * scale;
    const at::Tensor of_key = at::matmul(of_scores.transpose(2, 3), a.query);
    const at::Tensor of_value = at::matmul((a.probabilities * a.keep).transpose(2, 3), grad);
    return {layout.from_bnsd(at::matmul(of_scores, a.key)), layout.from_bnsd(sum_of_heads(of_key, key_heads)),
            layout.from_bnsd(sum_of_heads(of_value, key_heads))};
}

// Attends within each of several sequences, which lie below each other as {tokens, heads, features} (the layout TND). `use` gets the result
// of each, with its layout and with functions that cut the sequence's rows out of a tensor, as a batch of one.
template <class Use>
void attend_each(int64_t heads, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, at::IntArrayRef query_ends,
                 at::IntArrayRef key_ends, Options options, Use use) {
    const Layout layout{"BSND", heads};
    int64_t query_first = 0, key_first = 0;
    for (size_t i = 0; i < query_ends.size(); i++) {
        const int64_t rows = query_ends[i] - query_first, columns = key_ends[i] - key_first;
        const auto cut = [](int64_t first, int64_t count) {
            return [=](const at::Tensor& tensor) { return tensor.narrow(0, first, count).unsqueeze(0); };
        };
        const auto of_query = cut(query_first, rows), of_key = cut(key_first, columns);
        Options own = options;
        if (own.mask && own.mode < 2) own.mask = own.mask->narrow(-2, 0, rows).narrow(-1, 0, columns);
        use(layout, attend(layout, of_query(query), of_key(key), of_key(value), own), of_query, of_key);
        options.first_drop_bit += heads * rows * columns;
        query_first = query_ends[i];
        key_first = key_ends[i];
    }
}

void require_absent(const char* name, const std::optional<at::Tensor>& tensor) {
    if (tensor && tensor->numel() > 0) torch_aclnn::host::refuse(name, "null: the engine has none", c10::str("shape ", tensor->sizes()));
}

// The engine has no shifts of positions and no padding masks; a letter of the layout for each dimension; and heads that fit together.
void require_attention(std::string_view layout, int64_t heads, const NamedShape& query, const NamedShape& key, const NamedShape& value,
                       const std::optional<at::Tensor>& position_shift, const std::optional<at::Tensor>& padding_mask) {
    using torch_aclnn::host::refuse;
    require_absent("realShift", position_shift);
    require_absent("paddingMask", padding_mask);
    for (const NamedShape* tensor : {&query, &key, &value})
        if (tensor->sizes.size() != layout.size())
            refuse(tensor->name, c10::str("the dimensions ", layout), c10::str("shape ", tensor->sizes));
    const bool joined = layout.back() == 'H';
    const size_t place = joined ? 2 : layout.find('N');  // of the heads
    const int64_t of_query = query.sizes[place], features = joined ? of_query / heads : 1;
    if (features == 0 || of_query != heads * features)
        refuse("query", c10::str("headNum, ", heads, joined ? ", as a divisor of dimension " : ", as dimension ", place),
               std::to_string(of_query));
    const int64_t key_heads = key.sizes[place] / features;
    if (key_heads == 0 || heads % key_heads != 0 || key.sizes[place] != key_heads * features)
        refuse("key", c10::str("heads that divide the query's ", heads), c10::str("shape ", key.sizes));
    if (joined ? value.sizes[place] % key_heads != 0 : value.sizes[place] != key_heads)
        refuse("value", c10::str("the key's ", key_heads, " heads"), c10::str("shape ", value.sizes));
}

// Each sequence's end; together they have all tokens, or nobody would write the others' rows.
void require_ends(const char* name, at::IntArrayRef ends, const at::Tensor& tokens) {
    const int64_t last = ends.empty() ? 0 : ends.back();
    if (last != tokens.size(0) || (!ends.empty() && ends.front() < 0) || !std::is_sorted(ends.begin(), ends.end()))
        torch_aclnn::host::refuse(name, "rising numbers that end with " + std::to_string(tokens.size(0)), c10::str(ends));
}
void require_packed(const at::Tensor& query, const at::Tensor& key, at::IntArrayRef query_ends, at::IntArrayRef key_ends) {
    require_as_many({{"actualSeqKvLen", key_ends}}, {"actualSeqQLen", query_ends});
    require_ends("actualSeqQLen", query_ends, query);
    require_ends("actualSeqKvLen", key_ends, key);
}

std::string_view read_layout(const char* name, const char* text) {
    return read_choice(name, text, {"BNSD", "BSND", "BSH", "SBH"});
}
std::string_view read_packed_layout(const char* name, const char* text) {
    return read_choice(name, text, {"TND"});
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using AttentionLayout = Kind<const char*, std::string_view, std::string_view, read_layout>;
using PackedLayout = Kind<const char*, std::string_view, std::string_view, read_packed_layout>;
using SparseMode = Between<int64_t, 0, 3>;
}  // namespace torch_aclnn::host::aten::kind

#define REQUIRE_ATTENTION require_attention(inputLayout, headNum, {"query", query}, {"key", key}, {"value", value}, realShift, paddingMask)

// softmaxMax and softmaxSum have eight equal columns.
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScore, FLOATING, REQUIRE_ATTENTION, (In, query), (In, key), (In, value), (OptIn, realShift),
                   (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask), (OptInts, prefix), (Double, scaleValue), (Double, keepProb),
                   (Int, preTokens), (Int, nextTokens), (Positive, headNum), (AttentionLayout, inputLayout), (Int, innerPrecise),
                   (SparseMode, sparseMode), (OptOut, softmaxMax), (OptOut, softmaxSum), (OptOut, softmaxOut), (Out, attentionOut)) {
    const Layout layout{inputLayout, headNum};
    const Attention a = attend(layout, query, key, value, {dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode});
    write(attentionOut, attended(layout, a));
    if (softmaxMax) softmaxMax->copy_(a.maximum.expand_as(*softmaxMax));
    if (softmaxSum) softmaxSum->copy_(a.sum.expand_as(*softmaxSum));
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGrad, FLOATING, REQUIRE_ATTENTION, (In, query), (In, key), (In, value), (In, dy),
                   (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask), (OptIn, softmaxMax),
                   (OptIn, softmaxSum), (OptIn, softmaxIn), (OptIn, attentionIn), (OptInts, prefix), (Double, scaleValue),
                   (Double, keepProb), (Int, preTokens), (Int, nextTokens), (Positive, headNum), (AttentionLayout, inputLayout),
                   (Int, innerPrecise), (SparseMode, sparseMode), (Out, dq), (Out, dk), (Out, dv), (OptOut, dpse)) {
    const Layout layout{inputLayout, headNum};
    const Attention a = attend(layout, query, key, value, {dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode});
    const int64_t key_heads = layout.to_bnsd(key, layout.features(query)).size(1);
    const Gradients of = attend_backward(layout, a, key_heads, dy, scaleValue);
    write(dq, of.query);
    write(dk, of.key);
    write(dv, of.value);
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScore, FLOATING, (REQUIRE_ATTENTION, require_packed(query, key, actualSeqQLen, actualSeqKvLen)),
                   (In, query), (In, key), (In, value), (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask),
                   (OptInts, prefix), (Ints, actualSeqQLen), (Ints, actualSeqKvLen), (Double, scaleValue), (Double, keepProb),
                   (Int, preTokens), (Int, nextTokens), (Positive, headNum), (PackedLayout, inputLayout), (Int, innerPrecise),
                   (SparseMode, sparseMode), (OptOut, softmaxMax), (OptOut, softmaxSum), (OptOut, softmaxOut), (Out, attentionOut)) {
    const Options options{dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode};
    attend_each(headNum, query, key, value, actualSeqQLen, actualSeqKvLen, options,
                [&](const Layout& layout, const Attention& a, auto of_query, auto of_key) {
                    of_query(attentionOut).copy_(attended(layout, a));
                    const auto put = [&](const std::optional<at::Tensor>& out, const at::Tensor& values) {
                        if (out) of_query(*out).copy_(values.transpose(1, 2).expand_as(of_query(*out)));
                    };
                    put(softmaxMax, a.maximum);
                    put(softmaxSum, a.sum);
                });
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGrad, FLOATING,
                   (REQUIRE_ATTENTION, require_packed(query, key, actualSeqQLen, actualSeqKvLen)), (In, query), (In, key), (In, value),
                   (In, dy), (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask), (OptIn, softmaxMax),
                   (OptIn, softmaxSum), (OptIn, softmaxIn), (OptIn, attentionIn), (OptInts, prefix), (Ints, actualSeqQLen),
                   (Ints, actualSeqKvLen), (Double, scaleValue), (Double, keepProb), (Int, preTokens), (Int, nextTokens),
                   (Positive, headNum), (PackedLayout, inputLayout), (Int, innerPrecise), (SparseMode, sparseMode), (Out, dq), (Out, dk),
                   (Out, dv), (OptOut, dpse)) {
    const Options options{dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode};
    attend_each(headNum, query, key, value, actualSeqQLen, actualSeqKvLen, options,
                [&](const Layout& layout, const Attention& a, auto of_query, auto of_key) {
                    const Gradients of = attend_backward(layout, a, key.size(1), of_query(dy), scaleValue);
                    of_query(dq).copy_(of.query);
                    of_key(dk).copy_(of.key);
                    of_key(dv).copy_(of.value);
                });
}
