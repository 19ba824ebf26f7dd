// Attention of inference: sequences of several lengths, keys and values in pages of a cache, and features that only the scores see (rope).
//
// Each sequence is computed plainly, with the whole matrix of scores in memory, in float32 for half types.
#pragma once

#include "vocabulary/attention/fused_infer_attention_calls.h"

namespace torch_aclnn::host::aten {

// Where a sequence lies in a tensor: which of a batch, or which rows of all tokens.
struct SequencePlace {
    int64_t batch, first, length;
};
struct InferenceSequence {
    SequencePlace query, key;
};

struct InferenceAttention {
    const call::FusedInferAttentionScore& a;
    const OptNumbers &query_lengths, &key_lengths;
    const at::Tensor& query = a.query;
    at::TensorList keys = a.key, values = a.value;  // one tensor, or one for each sequence
    const OptTensor &shift = a.pseShift, &mask = a.attenMask, &pages = a.blockTable, &query_rope = a.queryRope, &key_rope = a.keyRope;
    const OptTensor &sink = a.learnableSink, &quant_scale = a.quantScale2, &quant_offset = a.quantOffset2;
    int64_t heads = a.numHeads, key_heads = a.numKeyValueHeads, before = a.preTokens, after = a.nextTokens, sparse_mode = a.sparseMode;
    double scale = a.scaleValue;
    std::string_view layout = a.inputLayout;
    const char* key_lengths_name = "actualSeqLengthsKv";  // the name of the entry point's parameter

    // The layouts of the query and of the result; the layout of the result, if it differs, follows an underscore.
    std::string_view query_layout() const { return layout.substr(0, layout.find('_')); }
    std::string_view out_layout() const { return layout.substr(layout.rfind('_') + 1); }  // where find() fails, npos + 1 is 0
    bool is_packed() const { return query_layout().find('T') != std::string_view::npos; }
    int64_t heads_of_key() const { return key_heads == 0 ? heads : key_heads; }
    int64_t batch_size() const;
    int64_t positions(const at::Tensor& tensor) const;  // `tensor` has the query's layout
    bool is_single() const;                             // whether each query has one position
    // The lengths of the queries. With one position in each query they mean nothing: programs pass the lengths of the keys there.
    const OptNumbers& lengths_of_queries() const;
    InferenceSequence sequence(int64_t i) const;
    // Returns {1 or the batch, 1, rows, columns}. With one position in each query, two dimensions are the batch and the keys.
    at::Tensor mask_of_batch() const;
};

int64_t positions_of_block(const at::Tensor& cache);

void require_inference_attention(const InferenceAttention& a);

Expected inferred(const InferenceAttention& a);
Expected inferred_lse(const InferenceAttention& a);

// Writes the result, and the logarithm of the sum of the exponentials of each row's scores.
void infer_attention(const InferenceAttention& a, at::Tensor& out, const OptTensor& lse);

}  // namespace torch_aclnn::host::aten
