// Attention of inference: sequences of several lengths, keys and values in pages of a cache, and features that only the scores see (rope).
//
// Each sequence is computed plainly, with the whole matrix of scores in memory, in float32 for half types.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "engine/aten/adapter/expected.h"

namespace torch_aclnn::host::aten {

struct InferenceAttention {
    const at::Tensor& query;
    at::TensorList keys, values;  // one tensor, or one for each sequence
    const OptTensor &shift, &mask;
    const std::optional<std::vector<int64_t>>&query_lengths, &key_lengths;
    const OptTensor &pages, &query_rope, &key_rope, &sink, &quant_scale, &quant_offset;
    int64_t heads, key_heads;
    double scale;
    int64_t before, after;
    std::string_view layout;
    int64_t sparse_mode;
    const char* key_lengths_name = "actualSeqLengthsKv";  // as the entry point calls them

    // The layouts of the query and of the result; the layout of the result, if it differs, follows an underscore.
    std::string_view query_layout() const { return layout.substr(0, layout.find('_')); }
    std::string_view out_layout() const { return layout.substr(layout.rfind('_') + 1); }  // npos + 1 is 0
    bool is_packed() const { return query_layout().find('T') != std::string_view::npos; }
    int64_t heads_of_key() const { return key_heads == 0 ? heads : key_heads; }
};

// 161002 where the arguments do not fit together.
void require_inference_attention(const InferenceAttention& a);

// The shapes of the result, and of its `lse`.
Expected inferred(const InferenceAttention& a);
Expected inferred_lse(const InferenceAttention& a);

// The result, and the logarithm of the sum of the exponentials of each row's scores.
void infer_attention(const InferenceAttention& a, at::Tensor& out, const OptTensor& lse);

}  // namespace torch_aclnn::host::aten
