// The versions of fused attention with more inputs: a sink for each head, and features that only the scores see (rope). They are features
// of the query and the key like the others.
#include "engine/aten/composite/attention_arguments.h"
#include "engine/aten/composite/dropout_mask.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "attention"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

Expected rope_of(const at::Tensor& tensor, const std::optional<at::Tensor>& rope) {
    return {with_size(tensor.sizes(), -1, given(rope) ? size_of(*rope, rope->dim() - 1) : 0).sizes, tensor.scalar_type()};
}
void require_ropes(std::string_view layout, const std::optional<at::Tensor>& query, const std::optional<at::Tensor>& key) {
    if (given(query) != given(key)) refuse("keyRope", "a tensor if and only if there is queryRope", given(key) ? "one" : "none");
    if (given(query) && layout.back() != 'D') refuse("queryRope", "null where inputLayout has H: the engine has none", std::string(layout));
}
at::Tensor with_rope(const at::Tensor& tensor, const std::optional<at::Tensor>& rope) {
    return given(rope) ? at::cat({tensor, *rope}, -1) : tensor;
}
void write_parts(const at::Tensor& gradient, const at::Tensor& of_tensor, const std::optional<at::Tensor>& of_rope) {
    const int64_t features = of_tensor.size(-1), more = gradient.size(-1) - features;
    of_tensor.copy_(gradient.narrow(-1, 0, features));
    if (of_rope && more > 0) of_rope->copy_(gradient.narrow(-1, features, more));
}

std::optional<at::Tensor> wanted_sink(const std::optional<at::Tensor>& sink) {
    return given(sink) ? sink : std::nullopt;
}

// Ascend950 draws what dropout keeps itself.
std::optional<at::Tensor> drop_mask(const std::optional<at::Tensor>& mask, const Packed& a, std::string_view layout, int64_t seed,
                                    int64_t offset) {
    if (given(mask) || a.options.keep_probability == 1) return mask;
    int64_t scores = 0;
    for (size_t i = 0; i < a.query_ends.size(); i++)
        scores += (a.query_ends[i] - (i == 0 ? 0 : a.query_ends[i - 1])) * (a.key_ends[i] - (i == 0 ? 0 : a.key_ends[i - 1]));
    const auto size = [&](const at::Tensor& tensor, char letter) { return tensor.size(static_cast<int64_t>(layout.find(letter))); };
    if (layout != "TND") scores = size(a.query, 'B') * size(a.query, 'S') * size(a.key, 'S');
    return drawn_dropout_mask({(scores * a.heads + 7) / 8}, PhiloxStream(seed, offset), a.options.keep_probability);
}

std::string_view read_any_layout(const char* name, const char* text) {
    return read_choice(name, text, {"BNSD", "BSND", "BSH", "SBH", "TND"});
}
std::string_view read_any_softmax_layout(const char* name, const char* text) {
    return read_choice(name, text, {"", "same_as_input"});
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using AnyAttentionLayout = Kind<const char*, std::string_view, std::string_view, read_any_layout>;
using AttentionType = Between<int64_t, 0, 1>;  // of the result of quantised inputs
using AnySoftmaxLayout = Kind<const char*, std::string_view, std::string_view, read_any_softmax_layout>;
}  // namespace torch_aclnn::host::aten::kind

#define SINK_OPTIONS                                                                                       \
    AttentionOptions {                                                                                     \
        dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode, 0, wanted_sink(sink) \
    }
#define SINK (OptIn, sink, or_empty(shape({headNum})))
#define SINK_GRADIENT (OptOut, dsink, or_empty(shape({headNum})))
#define ROPED_INPUTS                                                                                                                      \
    (In, query), (OptIn, queryRope, or_empty(rope_of(query, queryRope))), (In, key), (OptIn, keyRope, or_empty(rope_of(key, queryRope))), \
        (In, value)
#define ROPED_GRADIENTS                                                                                  \
    (Out, dq, like(query)), (OptOut, dqRope, or_empty(rope_of(query, queryRope))), (Out, dk, like(key)), \
        (OptOut, dkRope, or_empty(rope_of(key, queryRope))), (Out, dv, like(value)), (OptOut, dpse, any_shape())
#define REQUIRE_ROPED (require_ropes(inputLayout, queryRope, keyRope), REQUIRE_PACKED)
// Of which the options are the last argument; the tensors live as long as the call of a member.
#define ROPED(options)                                                                                               \
    Packed {                                                                                                         \
        headNum, with_rope(query, queryRope), with_rope(key, keyRope), value, actualSeqQLen, actualSeqKvLen, options \
    }

namespace {

// Nothing depends on a sink that is not given.
void write_of_sink(const std::optional<at::Tensor>& dsink, const at::Tensor& of_sink) {
    if (dsink && !of_sink.defined()) dsink->zero_();
    write(dsink, of_sink);
}

// The gradients of packed sequences, of which the query and the key have further features.
void roped_backward(const Packed& a, const at::Tensor& dy, const at::Tensor& dq, const std::optional<at::Tensor>& dq_rope,
                    const at::Tensor& dk, const std::optional<at::Tensor>& dk_rope, const at::Tensor& dv,
                    const std::optional<at::Tensor>& dsink) {
    const at::Tensor of_query = at::empty_like(a.query), of_key = at::empty_like(a.key);
    const at::Tensor of_sink = a.score_backward(dy, of_query, of_key, dv);
    write_parts(of_query, dq, dq_rope);
    write_parts(of_key, dk, dk_rope);
    write_of_sink(dsink, of_sink);
}

}  // namespace

ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreV3, FLOATING, REQUIRE_ATTENTION, QUERY_KEY_VALUE, MASKS, SINK, (OptInts, prefix), STARTS,
                   ATTRIBUTES(AttentionLayout), (ShiftType, pseType), RESULTS) {
    score(LAYOUT, query, key, value, SINK_OPTIONS, softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGradV3, FLOATING, REQUIRE_ATTENTION, QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, STATISTICS_IN,
                   SINK, (OptInts, prefix), STARTS, ATTRIBUTES(AttentionLayout), (ShiftType, pseType), GRADIENTS, SINK_GRADIENT) {
    write_of_sink(dsink, score_backward(LAYOUT, query, key, value, dy, SINK_OPTIONS, dq, dk, dv));
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScoreV3, FLOATING, REQUIRE_ROPED, ROPED_INPUTS, MASKS, (OptInts, prefix), ENDS, STARTS,
                   ATTRIBUTES(PackedLayout), (ShiftType, pseType), RESULTS) {
    ROPED(OPTIONS).score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScoreV5, FLOATING, REQUIRE_ROPED, ROPED_INPUTS, MASKS, SINK, (OptInts, prefix), ENDS, STARTS,
                   ATTRIBUTES(PackedLayout), (ShiftType, pseType), (AnySoftmaxLayout, softmaxOutLayout), RESULTS) {
    ROPED(SINK_OPTIONS).score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGradV3, FLOATING, REQUIRE_ROPED, ROPED_INPUTS, (In, dy, RESULT), MASKS, SAVED, ENDS,
                   STARTS, ATTRIBUTES(PackedLayout), (ShiftType, pseType), ROPED_GRADIENTS) {
    roped_backward(ROPED(OPTIONS), dy, dq, dqRope, dk, dkRope, dv, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGradV5, FLOATING, REQUIRE_ROPED, ROPED_INPUTS, (In, dy, RESULT), MASKS, STATISTICS_IN,
                   SINK, (OptInts, prefix), ENDS, STARTS, ATTRIBUTES(PackedLayout), (ShiftType, pseType),
                   (AnySoftmaxLayout, softmaxInLayout), ROPED_GRADIENTS, SINK_GRADIENT) {
    roped_backward(ROPED(SINK_OPTIONS), dy, dq, dqRope, dk, dkRope, dv, dsink);
}

// Ascend950's: of all layouts, and with scales of quantised inputs, which the engine has none of.
#define REQUIRE_V4                                                                                                        \
    (require_not_given("dScaleQ", dScaleQ), require_not_given("dScaleK", dScaleK), require_not_given("dScaleV", dScaleV), \
     require_ropes(inputLayout, queryRope, keyRope), REQUIRE_ATTENTION,                                                   \
     inputLayout == "TND" ? require_packed(query, key, actualSeqQLen, actualSeqKvLen) : void())
#define ROPES (OptIn, queryRope, or_empty(rope_of(query, queryRope))), (OptIn, keyRope, or_empty(rope_of(key, queryRope)))
#define SCALES (OptIn, dScaleQ), (OptIn, dScaleK), (OptIn, dScaleV)
#define V4_ATTRIBUTES                                                                                        \
    (Double, scaleValue), (Probability, keepProb), (Int, preTokens), (Int, nextTokens), (Positive, headNum), \
        (AnyAttentionLayout, inputLayout)
#define DRAWN_IF_MISSING a.options.drop_mask = drop_mask(dropMask, a, inputLayout, seed, offset)

ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreV4, FLOATING, REQUIRE_V4, QUERY_KEY_VALUE, MASKS, ROPES, SCALES, SINK, (OptInts, prefix), ENDS,
                   STARTS, V4_ATTRIBUTES, (Int, innerPrecise), (SparseMode, sparseMode), (AttentionType, outDtype), (ShiftType, pseType),
                   (AnySoftmaxLayout, softmaxOutLayout), (Int, seed), (Int, offset), RESULTS) {
    Packed a = ROPED(SINK_OPTIONS);
    DRAWN_IF_MISSING;
    if (inputLayout == "TND")
        a.score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
    else
        score(LAYOUT, a.query, a.key, value, a.options, softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGradV4, FLOATING,
                   (require_not_given("dScaleDy", dScaleDy), require_not_given("dScaleO", dScaleO), REQUIRE_V4), QUERY_KEY_VALUE,
                   (In, dy, RESULT), MASKS, STATISTICS_IN, SINK, ROPES, SCALES, (OptIn, dScaleDy), (OptIn, dScaleO), (OptInts, prefix),
                   ENDS, STARTS, V4_ATTRIBUTES, (AnySoftmaxLayout, softmaxInLayout), (Int, innerPrecise), (SparseMode, sparseMode),
                   (ShiftType, pseType), (Int, seed), (Int, offset), (AttentionType, outDtype), (Out, dq, like(query)),
                   (Out, dk, like(key)), (Out, dv, like(value)), (OptOut, dqRope, or_empty(rope_of(query, queryRope))),
                   (OptOut, dkRope, or_empty(rope_of(key, queryRope))), (OptOut, dpse, any_shape()), SINK_GRADIENT) {
    Packed a = ROPED(SINK_OPTIONS);
    DRAWN_IF_MISSING;
    if (inputLayout == "TND") return roped_backward(a, dy, dq, dqRope, dk, dkRope, dv, dsink);
    at::Tensor of_query = at::empty_like(a.query), of_key = at::empty_like(a.key);
    write_of_sink(dsink, score_backward(LAYOUT, a.query, a.key, value, dy, a.options, of_query, of_key, dv));
    write_parts(of_query, dq, dqRope);
    write_parts(of_key, dk, dkRope);
}
