// The entry points of attention for inference. They share the struct of arguments.

#include "engine/aten/attention/attention_arguments.h"
#include "engine/aten/attention/inference_attention.h"

namespace {

using call::FusedInferAttentionScore;

InferenceAttention inference(const FusedInferAttentionScore& a) {
    return {a, a.actualSeqLengths, a.actualSeqLengthsKv};
}
// Each sequence has one position, against all its keys; the lengths are those of the keys.
InferenceAttention incremental(const FusedInferAttentionScore& a) {
    static const OptNumbers none;
    InferenceAttention one{a, none, a.actualSeqLengths};
    one.before = one.after = std::numeric_limits<int32_t>::max();
    one.key_lengths_name = "actualSeqLengths";
    return one;
}

// The engine has no quantised queries, keys and values, and no prefixes that sequences share.
void check(const FusedInferAttentionScore& a, const InferenceAttention& attention) {
    require_not_given("deqScale1", a.deqScale1, "dequantScale1", a.dequantScale1, "quantScale1", a.quantScale1, "deqScale2", a.deqScale2,
                      "dequantScale2", a.dequantScale2, "antiquantScale", a.antiquantScale, "antiquantOffset", a.antiquantOffset,
                      "queryPaddingSize", a.queryPaddingSize, "kvPaddingSize", a.kvPaddingSize, "keyAntiquantScale", a.keyAntiquantScale,
                      "keyAntiquantOffset", a.keyAntiquantOffset, "valueAntiquantScale", a.valueAntiquantScale, "valueAntiquantOffset",
                      a.valueAntiquantOffset, "keySharedPrefix", a.keySharedPrefix, "valueSharedPrefix", a.valueSharedPrefix,
                      "keyRopeAntiquantScale", a.keyRopeAntiquantScale, "dequantScaleQuery", a.dequantScaleQuery, "qStartIdx", a.qStartIdx,
                      "kvStartIdx", a.kvStartIdx);
    require_not_given("actualSharedPrefixLen", a.actualSharedPrefixLen);
    require_inference_attention(attention);
}

void compute(const FusedInferAttentionScore& a) {
    infer_attention(inference(a), a.attentionOut, a.softmaxLseFlag ? a.softmaxLse : std::nullopt);
}

}  // namespace
