// The entry points of attention for inference.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/inference_attention.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "inference attention"
using namespace torch_aclnn::host::aten;

namespace {

const std::optional<at::Tensor> kNoTensor;
const std::optional<std::vector<int64_t>> kNoLengths;
constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

std::string_view read_inference_layout(const char* name, const char* text) {
    return read_choice(name, text,
                       {"BSH", "BSND", "BNSD", "NSD", "TND", "NTD", "BNSD_BSND", "BSH_BNSD", "BSND_BNSD", "BSH_NBSD", "BSND_NBSD",
                        "BNSD_NBSD", "TND_NTD", "NTD_TND"});
}

void require_no_lengths(const char* name, const std::optional<std::vector<int64_t>>& lengths) {
    if (lengths && !lengths->empty()) torch_aclnn::host::refuse(name, "null: the engine has none", c10::str(at::IntArrayRef(*lengths)));
}

// Parameters of quantised queries, keys and values, and of prefixes that sequences share.
struct NamedOptional {
    const char* name;
    const std::optional<at::Tensor>& tensor;
};
void require_none(std::initializer_list<NamedOptional> tensors) {
    for (const NamedOptional& tensor : tensors) require_not_given(tensor.name, tensor.tensor);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using InferenceLayout = Kind<const char*, std::string_view, std::string_view, read_inference_layout>;
using InferenceSparseMode = Between<int64_t, 0, 4>;
using NoAntiquantMode = Between<int64_t, 0, 0>;
using NoShiftType = Between<int64_t, 0, 0>;  // of computed shifts of positions
}  // namespace torch_aclnn::host::aten::kind

#define REQUIRE_NOT_QUANTISED                             \
    require_none({{"deqScale1", deqScale1},               \
                  {"quantScale1", quantScale1},           \
                  {"deqScale2", deqScale2},               \
                  {"antiquantScale", antiquantScale},     \
                  {"antiquantOffset", antiquantOffset},   \
                  {"queryPaddingSize", queryPaddingSize}, \
                  {"kvPaddingSize", kvPaddingSize}})
#define REQUIRE_NO_PREFIX                                                                                                              \
    (require_no_lengths("actualSharedPrefixLen", actualSharedPrefixLen), require_none({{"keyAntiquantScale", keyAntiquantScale},       \
                                                                                       {"keyAntiquantOffset", keyAntiquantOffset},     \
                                                                                       {"valueAntiquantScale", valueAntiquantScale},   \
                                                                                       {"valueAntiquantOffset", valueAntiquantOffset}, \
                                                                                       {"keySharedPrefix", keySharedPrefix},           \
                                                                                       {"valueSharedPrefix", valueSharedPrefix}}))
// The first parameters of all versions.
#define FUSED_INFER_TENSORS                                                                                                       \
    (In, query), (Tensors, key), (Tensors, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths),            \
        (OptInts, actualSeqLengthsKv), (OptIn, deqScale1), (OptIn, quantScale1), (OptIn, deqScale2), (OptIn, quantScale2),        \
        (OptIn, quantOffset2), (OptIn, antiquantScale), (OptIn, antiquantOffset), (OptIn, blockTable), (OptIn, queryPaddingSize), \
        (OptIn, kvPaddingSize)
#define FUSED_INFER_PREFIX                                                                                                \
    (OptIn, keyAntiquantScale), (OptIn, keyAntiquantOffset), (OptIn, valueAntiquantScale), (OptIn, valueAntiquantOffset), \
        (OptIn, keySharedPrefix), (OptIn, valueSharedPrefix), (OptInts, actualSharedPrefixLen)
#define FUSED_INFER_ATTRIBUTES                                                                                             \
    (Positive, numHeads), (Double, scaleValue), (Int, preTokens), (Int, nextTokens), (InferenceLayout, inputLayout),       \
        (NotNegative, numKeyValueHeads), (InferenceSparseMode, sparseMode), (Int, innerPrecise), (NotNegative, blockSize), \
        (NoAntiquantMode, antiquantMode), (Bool, softmaxLseFlag)
#define FUSED_INFER(query_rope, key_rope, sink)                                                                                            \
    InferenceAttention {                                                                                                                   \
        query, key, value, pseShift, attenMask, actualSeqLengths, actualSeqLengthsKv, blockTable, query_rope, key_rope, sink, quantScale2, \
            quantOffset2, numHeads, numKeyValueHeads, scaleValue, preTokens, nextTokens, inputLayout, sparseMode                           \
    }
#define NO_LSE_UNLESS_WANTED softmaxLseFlag ? softmaxLse : kNoTensor

ATEN_CHECKED_ENTRY(aclnnFusedInferAttentionScore, FLOAT16 | BF16,
                   (REQUIRE_NOT_QUANTISED, require_inference_attention(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))), FUSED_INFER_TENSORS,
                   FUSED_INFER_ATTRIBUTES, (Out, attentionOut, inferred(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))),
                   (OptOut, softmaxLse, if_wanted(softmaxLseFlag, inferred_lse(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))))) {
    infer_attention(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor), attentionOut, NO_LSE_UNLESS_WANTED);
}
ATEN_CHECKED_ENTRY(aclnnFusedInferAttentionScoreV2, FLOAT16 | BF16,
                   (REQUIRE_NOT_QUANTISED, REQUIRE_NO_PREFIX, require_inference_attention(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))),
                   FUSED_INFER_TENSORS, FUSED_INFER_PREFIX, FUSED_INFER_ATTRIBUTES, (NoAntiquantMode, keyAntiquantMode),
                   (NoAntiquantMode, valueAntiquantMode), (Out, attentionOut, inferred(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))),
                   (OptOut, softmaxLse, if_wanted(softmaxLseFlag, inferred_lse(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor))))) {
    infer_attention(FUSED_INFER(kNoTensor, kNoTensor, kNoTensor), attentionOut, NO_LSE_UNLESS_WANTED);
}
ATEN_CHECKED_ENTRY(aclnnFusedInferAttentionScoreV3, FLOAT16 | BF16,
                   (REQUIRE_NOT_QUANTISED, REQUIRE_NO_PREFIX, require_not_given("keyRopeAntiquantScale", keyRopeAntiquantScale),
                    require_inference_attention(FUSED_INFER(queryRope, keyRope, kNoTensor))),
                   FUSED_INFER_TENSORS, FUSED_INFER_PREFIX, (OptIn, queryRope), (OptIn, keyRope), (OptIn, keyRopeAntiquantScale),
                   FUSED_INFER_ATTRIBUTES, (NoAntiquantMode, keyAntiquantMode), (NoAntiquantMode, valueAntiquantMode),
                   (Out, attentionOut, inferred(FUSED_INFER(queryRope, keyRope, kNoTensor))),
                   (OptOut, softmaxLse, if_wanted(softmaxLseFlag, inferred_lse(FUSED_INFER(queryRope, keyRope, kNoTensor))))) {
    infer_attention(FUSED_INFER(queryRope, keyRope, kNoTensor), attentionOut, NO_LSE_UNLESS_WANTED);
}
ATEN_MAX_WORKSPACE(aclnnFusedInferAttentionScoreV3)
// The sink is a score for each head that takes part in the softmax only.
ATEN_CHECKED_ENTRY(aclnnFusedInferAttentionScoreV4, FLOAT16 | BF16,
                   (REQUIRE_NOT_QUANTISED, REQUIRE_NO_PREFIX,
                    require_none({{"keyRopeAntiquantScale", keyRopeAntiquantScale}, {"dequantScaleQuery", dequantScaleQuery}}),
                    require_inference_attention(FUSED_INFER(queryRope, keyRope, learnableSink))),
                   FUSED_INFER_TENSORS, FUSED_INFER_PREFIX, (OptIn, queryRope), (OptIn, keyRope), (OptIn, keyRopeAntiquantScale),
                   (OptIn, dequantScaleQuery), (OptIn, learnableSink), FUSED_INFER_ATTRIBUTES, (NoAntiquantMode, keyAntiquantMode),
                   (NoAntiquantMode, valueAntiquantMode), (NoAntiquantMode, queryQuantMode),
                   (Out, attentionOut, inferred(FUSED_INFER(queryRope, keyRope, learnableSink))),
                   (OptOut, softmaxLse, if_wanted(softmaxLseFlag, inferred_lse(FUSED_INFER(queryRope, keyRope, learnableSink))))) {
    infer_attention(FUSED_INFER(queryRope, keyRope, learnableSink), attentionOut, NO_LSE_UNLESS_WANTED);
}
ATEN_MAX_WORKSPACE(aclnnFusedInferAttentionScoreV4)
ATEN_CHECKED_ENTRY(aclnnFusedInferAttentionScoreV5, FLOAT16 | BF16,
                   (REQUIRE_NOT_QUANTISED, REQUIRE_NO_PREFIX,
                    require_none({{"keyRopeAntiquantScale", keyRopeAntiquantScale},
                                  {"dequantScaleQuery", dequantScaleQuery},
                                  {"qStartIdx", qStartIdx},
                                  {"kvStartIdx", kvStartIdx}}),
                    require_inference_attention(FUSED_INFER(queryRope, keyRope, learnableSink))),
                   FUSED_INFER_TENSORS, FUSED_INFER_PREFIX, (OptIn, queryRope), (OptIn, keyRope), (OptIn, keyRopeAntiquantScale),
                   (OptIn, dequantScaleQuery), (OptIn, learnableSink), (OptIn, qStartIdx), (OptIn, kvStartIdx), FUSED_INFER_ATTRIBUTES,
                   (NoAntiquantMode, keyAntiquantMode), (NoAntiquantMode, valueAntiquantMode), (NoAntiquantMode, queryQuantMode),
                   (NoShiftType, pseType), (Out, attentionOut, inferred(FUSED_INFER(queryRope, keyRope, learnableSink))),
                   (OptOut, softmaxLse, if_wanted(softmaxLseFlag, inferred_lse(FUSED_INFER(queryRope, keyRope, learnableSink))))) {
    infer_attention(FUSED_INFER(queryRope, keyRope, learnableSink), attentionOut, NO_LSE_UNLESS_WANTED);
}
ATEN_MAX_WORKSPACE(aclnnFusedInferAttentionScoreV5)

#define PROMPT_FLASH(key_lengths, quant_scale, quant_offset, sparse_mode)                                                               \
    InferenceAttention {                                                                                                                \
        query, key, value, pseShift, attenMask, actualSeqLengths, key_lengths, kNoTensor, kNoTensor, kNoTensor, kNoTensor, quant_scale, \
            quant_offset, numHeads, numKeyValueHeads, scaleValue, preTokens, nextTokens, inputLayout, sparse_mode                       \
    }
#define PROMPT_FLASH_V1 PROMPT_FLASH(kNoLengths, kNoTensor, kNoTensor, 0)
#define PROMPT_FLASH_V3 PROMPT_FLASH(actualSeqLengthsKv, quantScale2, quantOffset2, sparseMode)
ATEN_CHECKED_ENTRY(aclnnPromptFlashAttention, FLOAT16 | BF16, require_inference_attention(PROMPT_FLASH_V1), (In, query), (In, key),
                   (In, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths), (Positive, numHeads),
                   (Double, scaleValue), (Int, preTokens), (Int, nextTokens), (InferenceLayout, inputLayout),
                   (NotNegative, numKeyValueHeads), (Out, attentionOut, inferred(PROMPT_FLASH_V1))) {
    infer_attention(PROMPT_FLASH_V1, attentionOut, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnPromptFlashAttentionV2, FLOAT16 | BF16,
                   (require_none({{"deqScale1", deqScale1}, {"quantScale1", quantScale1}, {"deqScale2", deqScale2}}),
                    require_inference_attention(PROMPT_FLASH_V3)),
                   (In, query), (In, key), (In, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths),
                   (OptInts, actualSeqLengthsKv), (OptIn, deqScale1), (OptIn, quantScale1), (OptIn, deqScale2), (OptIn, quantScale2),
                   (OptIn, quantOffset2), (Positive, numHeads), (Double, scaleValue), (Int, preTokens), (Int, nextTokens),
                   (InferenceLayout, inputLayout), (NotNegative, numKeyValueHeads), (InferenceSparseMode, sparseMode),
                   (Out, attentionOut, inferred(PROMPT_FLASH_V3))) {
    infer_attention(PROMPT_FLASH_V3, attentionOut, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnPromptFlashAttentionV3, FLOAT16 | BF16,
                   (require_none({{"deqScale1", deqScale1}, {"quantScale1", quantScale1}, {"deqScale2", deqScale2}}),
                    require_inference_attention(PROMPT_FLASH_V3)),
                   (In, query), (In, key), (In, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths),
                   (OptInts, actualSeqLengthsKv), (OptIn, deqScale1), (OptIn, quantScale1), (OptIn, deqScale2), (OptIn, quantScale2),
                   (OptIn, quantOffset2), (Positive, numHeads), (Double, scaleValue), (Int, preTokens), (Int, nextTokens),
                   (InferenceLayout, inputLayout), (NotNegative, numKeyValueHeads), (InferenceSparseMode, sparseMode), (Int, innerPrecise),
                   (Out, attentionOut, inferred(PROMPT_FLASH_V3))) {
    infer_attention(PROMPT_FLASH_V3, attentionOut, std::nullopt);
}

// One position of each sequence, against all its keys; the lengths are those of the keys.
#define INCRE_FLASH(pages, quant_scale, quant_offset)                                                                               \
    InferenceAttention{query,     key,       value,       pseShift,    attenMask,         kNoLengths, actualSeqLengths, pages,      \
                       kNoTensor, kNoTensor, kNoTensor,   quant_scale, quant_offset,      numHeads,   numKeyValueHeads, scaleValue, \
                       kFar,      kFar,      inputLayout, 0,           "actualSeqLengths"}
#define INCRE_FLASH_V1 INCRE_FLASH(kNoTensor, kNoTensor, kNoTensor)
#define INCRE_FLASH_V2 INCRE_FLASH(kNoTensor, quantScale2, quantOffset2)
#define INCRE_FLASH_V3 INCRE_FLASH(blockTable, quantScale2, quantOffset2)
#define INCRE_INPUTS (In, query), (Tensors, key), (Tensors, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths)
#define INCRE_QUANT (OptIn, dequantScale1), (OptIn, quantScale1), (OptIn, dequantScale2), (OptIn, quantScale2), (OptIn, quantOffset2)
#define INCRE_ATTRIBUTES (Positive, numHeads), (Double, scaleValue), (InferenceLayout, inputLayout), (NotNegative, numKeyValueHeads)
#define INCRE_NOT_QUANTISED require_none({{"dequantScale1", dequantScale1}, {"quantScale1", quantScale1}, {"dequantScale2", dequantScale2}})
ATEN_CHECKED_ENTRY(aclnnIncreFlashAttention, FLOAT16 | BF16, require_inference_attention(INCRE_FLASH_V1), INCRE_INPUTS, INCRE_ATTRIBUTES,
                   (Out, attentionOut, inferred(INCRE_FLASH_V1))) {
    infer_attention(INCRE_FLASH_V1, attentionOut, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnIncreFlashAttentionV2, FLOAT16 | BF16, (INCRE_NOT_QUANTISED, require_inference_attention(INCRE_FLASH_V2)),
                   INCRE_INPUTS, INCRE_QUANT, INCRE_ATTRIBUTES, (Out, attentionOut, inferred(INCRE_FLASH_V2))) {
    infer_attention(INCRE_FLASH_V2, attentionOut, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnIncreFlashAttentionV3, FLOAT16 | BF16,
                   (INCRE_NOT_QUANTISED, require_none({{"antiquantScale", antiquantScale}, {"antiquantOffset", antiquantOffset}}),
                    require_inference_attention(INCRE_FLASH_V3)),
                   INCRE_INPUTS, INCRE_QUANT, (OptIn, antiquantScale), (OptIn, antiquantOffset), (OptIn, blockTable), INCRE_ATTRIBUTES,
                   (NotNegative, blockSize), (Int, innerPrecise), (Out, attentionOut, inferred(INCRE_FLASH_V3))) {
    infer_attention(INCRE_FLASH_V3, attentionOut, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnIncreFlashAttentionV4, FLOAT16 | BF16,
                   (require_none({{"deqScale1", deqScale1},
                                  {"quantScale1", quantScale1},
                                  {"deqScale2", deqScale2},
                                  {"antiquantScale", antiquantScale},
                                  {"antiquantOffset", antiquantOffset},
                                  {"kvPaddingSize", kvPaddingSize}}),
                    require_inference_attention(INCRE_FLASH_V3)),
                   (In, query), (Tensors, key), (Tensors, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths),
                   (OptIn, deqScale1), (OptIn, quantScale1), (OptIn, deqScale2), (OptIn, quantScale2), (OptIn, quantOffset2),
                   (OptIn, antiquantScale), (OptIn, antiquantOffset), (OptIn, blockTable), (OptIn, kvPaddingSize), (Positive, numHeads),
                   (Double, scaleValue), (InferenceLayout, inputLayout), (NotNegative, numKeyValueHeads), (NotNegative, blockSize),
                   (Int, innerPrecise), (Out, attentionOut, inferred(INCRE_FLASH_V3))) {
    infer_attention(INCRE_FLASH_V3, attentionOut, std::nullopt);
}
