// Fused attention, which scaled_dot_product_attention and npu_fusion_attention use: softmax(scale * query key^T) value, with masks and
// dropout.
//
// Computed plainly, with the whole matrix of scores in memory, in float32 for half types. The backward computes the scores again.
#pragma once

#include <ATen/ATen.h>

#include <string_view>

#include "engine/aten/adapter/relations.h"
#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// Converts between a layout and BNSD (batch, heads, positions, features). The letter H stands for heads and features in one dimension.
struct AttentionLayout {
    std::string_view name;
    int64_t heads;  // the query's

    at::Tensor to_bnsd(const at::Tensor& tensor, int64_t features) const {
        if (name == "BNSD") return upcast(tensor);
        if (name == "BSND") return upcast(tensor).transpose(1, 2);
        if (name == "BSH") return upcast(tensor).unflatten(2, at::IntArrayRef{-1, features}).transpose(1, 2);
        return upcast(tensor).unflatten(2, at::IntArrayRef{-1, features}).permute({1, 2, 0, 3});  // SBH
    }
    at::Tensor from_bnsd(const at::Tensor& tensor) const {
        if (name == "BNSD") return tensor;
        if (name == "BSND") return tensor.transpose(1, 2);
        return name == "BSH" ? tensor.transpose(1, 2).flatten(2) : tensor.permute({2, 0, 1, 3}).flatten(2);
    }
    // Features of a head: the key has as many as the query; the value may have others, but as many heads as the key.
    int64_t features(const at::Tensor& query) const { return name == "BNSD" || name == "BSND" ? query.size(3) : query.size(2) / heads; }
};

// Options that the entry points share.
struct AttentionOptions {
    OptTensor drop_mask, mask;
    double scale, keep_probability;
    int64_t before, after, mode;
    int64_t first_drop_bit = 0;
    OptTensor sink = std::nullopt;  // a score for each head that takes part in the softmax, and has no value
};

// The mask of scores that do not count; nothing if all count, as without a mask in each mode. From mode 2 on the mask has a fixed size and
// says no more than the mode: 2 is causal from the first row and column, 3 from the last, and 4 is a band around that diagonal.
OptTensor hidden_scores(int64_t rows, int64_t columns, const AttentionOptions& o);

struct Attention {
    at::Tensor query, key, value;  // BNSD, all with the query's heads
    int64_t key_heads;
    at::Tensor maximum, sum, probabilities;
    at::Tensor of_sink;  // the sink's probability; undefined without one
    OptTensor keep;      // what dropout multiplies the probabilities by; nothing without dropout
};

Attention attend(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 const AttentionOptions& o);
at::Tensor attended(const AttentionLayout& layout, const Attention& a);

struct AttentionGradients {
    at::Tensor query, key, value, sink;
};
AttentionGradients attend_backward(const AttentionLayout& layout, const Attention& a, const at::Tensor& dy, double scale);

}  // namespace torch_aclnn::host::aten
