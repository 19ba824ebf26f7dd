// The entry points of fused attention.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/fused_attention.h"

ATEN_FAMILY("attention")

using namespace torch_aclnn::host::aten;

namespace {

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
                   (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask), (OptInts, prefix), (Double, scaleValue),
                   (Probability, keepProb), (Int, preTokens), (Int, nextTokens), (Positive, headNum), (AttentionLayout, inputLayout),
                   (Int, innerPrecise), (SparseMode, sparseMode), (OptOut, softmaxMax), (OptOut, softmaxSum), (OptOut, softmaxOut),
                   (Out, attentionOut)) {
    const AttentionLayout layout{inputLayout, headNum};
    const Attention a = attend(layout, query, key, value, {dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode});
    write(attentionOut, attended(layout, a));
    if (softmaxMax) softmaxMax->copy_(a.maximum.expand_as(*softmaxMax));
    if (softmaxSum) softmaxSum->copy_(a.sum.expand_as(*softmaxSum));
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGrad, FLOATING, REQUIRE_ATTENTION, (In, query), (In, key), (In, value), (In, dy),
                   (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask), (OptIn, softmaxMax),
                   (OptIn, softmaxSum), (OptIn, softmaxIn), (OptIn, attentionIn), (OptInts, prefix), (Double, scaleValue),
                   (Probability, keepProb), (Int, preTokens), (Int, nextTokens), (Positive, headNum), (AttentionLayout, inputLayout),
                   (Int, innerPrecise), (SparseMode, sparseMode), (Out, dq), (Out, dk), (Out, dv), (OptOut, dpse)) {
    const AttentionLayout layout{inputLayout, headNum};
    const Attention a = attend(layout, query, key, value, {dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode});
    const int64_t key_heads = layout.to_bnsd(key, layout.features(query)).size(1);
    const AttentionGradients of = attend_backward(layout, a, key_heads, dy, scaleValue);
    write(dq, of.query);
    write(dk, of.key);
    write(dv, of.value);
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScore, FLOATING, (REQUIRE_ATTENTION, require_packed(query, key, actualSeqQLen, actualSeqKvLen)),
                   (In, query), (In, key), (In, value), (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask),
                   (OptInts, prefix), (Ints, actualSeqQLen), (Ints, actualSeqKvLen), (Double, scaleValue), (Probability, keepProb),
                   (Int, preTokens), (Int, nextTokens), (Positive, headNum), (PackedLayout, inputLayout), (Int, innerPrecise),
                   (SparseMode, sparseMode), (OptOut, softmaxMax), (OptOut, softmaxSum), (OptOut, softmaxOut), (Out, attentionOut)) {
    const AttentionOptions options{dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode};
    attend_each(headNum, query, key, value, actualSeqQLen, actualSeqKvLen, options,
                [&](const AttentionLayout& layout, const Attention& a, auto of_query, auto of_key) {
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
                   (Ints, actualSeqKvLen), (Double, scaleValue), (Probability, keepProb), (Int, preTokens), (Int, nextTokens),
                   (Positive, headNum), (PackedLayout, inputLayout), (Int, innerPrecise), (SparseMode, sparseMode), (Out, dq), (Out, dk),
                   (Out, dv), (OptOut, dpse)) {
    const AttentionOptions options{dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode};
    attend_each(headNum, query, key, value, actualSeqQLen, actualSeqKvLen, options,
                [&](const AttentionLayout& layout, const Attention& a, auto of_query, auto of_key) {
                    const AttentionGradients of = attend_backward(layout, a, key.size(1), of_query(dy), scaleValue);
                    of_query(dq).copy_(of.query);
                    of_key(dk).copy_(of.key);
                    of_key(dv).copy_(of.value);
                });
}
