// The entry points of fused attention. attention_versions.cpp has those of the versions with more inputs.
#include "engine/aten/composite/attention_arguments.h"

#define ATEN_FAMILY "attention"
using namespace torch_aclnn::host::aten;

ATEN_CHECKED_ENTRY(aclnnFlashAttentionScore, FLOATING, REQUIRE_ATTENTION, QUERY_KEY_VALUE, MASKS, (OptInts, prefix),
                   ATTRIBUTES(AttentionLayout), RESULTS) {
    score(LAYOUT, query, key, value, OPTIONS, softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
// The newer versions say where positions begin, for shifts of positions that are computed.
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreV2, FLOATING, REQUIRE_ATTENTION, QUERY_KEY_VALUE, MASKS, (OptInts, prefix), STARTS,
                   ATTRIBUTES(AttentionLayout), (ShiftType, pseType), RESULTS) {
    score(LAYOUT, query, key, value, OPTIONS, softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGrad, FLOATING, REQUIRE_ATTENTION, QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, SAVED,
                   ATTRIBUTES(AttentionLayout), GRADIENTS) {
    score_backward(LAYOUT, query, key, value, dy, OPTIONS, dq, dk, dv);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionScoreGradV2, FLOATING, (REQUIRE_ATTENTION, require_usual_shift_if_strict(inputLayout, pseType)),
                   QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, SAVED, STARTS, ATTRIBUTES(AttentionLayout), (ShiftType, pseType), GRADIENTS) {
    score_backward(LAYOUT, query, key, value, dy, OPTIONS, dq, dk, dv);
}

ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScore, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, MASKS, (OptInts, prefix), ENDS,
                   ATTRIBUTES(PackedLayout), RESULTS) {
    PACKED.score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScoreV2, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, MASKS, (OptInts, prefix), ENDS, STARTS,
                   ATTRIBUTES(PackedLayout), (ShiftType, pseType), RESULTS) {
    PACKED.score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionVarLenScoreV4, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, MASKS, (OptInts, prefix), ENDS,
                   ATTRIBUTES(PackedLayout), (SoftmaxLayout, softmaxOutLayout), RESULTS) {
    PACKED.score(softmaxMax, softmaxSum, softmaxOut, attentionOut);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGrad, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, SAVED, ENDS,
                   ATTRIBUTES(PackedLayout), GRADIENTS) {
    PACKED.score_backward(dy, dq, dk, dv);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGradV2, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, SAVED, ENDS,
                   STARTS, ATTRIBUTES(PackedLayout), (ShiftType, pseType), GRADIENTS) {
    PACKED.score_backward(dy, dq, dk, dv);
}
ATEN_CHECKED_ENTRY(aclnnFlashAttentionUnpaddingScoreGradV4, FLOATING, REQUIRE_PACKED, QUERY_KEY_VALUE, (In, dy, RESULT), MASKS, SAVED, ENDS,
                   ATTRIBUTES(PackedLayout), GRADIENTS, (SoftmaxLayout, softmaxInLayout)) {
    PACKED.score_backward(dy, dq, dk, dv);
}
