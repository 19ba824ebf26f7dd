// Fused attention, which scaled_dot_product_attention and npu_fusion_attention use: softmax(scale * query key^T) value, with masks and
// dropout.
//
// Computed in blocks of heads and rows whose scores stay in a processor's cache, in float32 for half types.
#pragma once

#include <ATen/ATen.h>

#include <string_view>

#include "engine/aten/adapter/relations.h"
#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// Returns views in a layout as BNSD (batch, heads, positions, features). The letter H stands for heads and features in one dimension.
struct AttentionLayout {
    std::string_view name;
    int64_t heads;  // the query's

    at::Tensor to_bnsd(const at::Tensor& tensor, int64_t features) const {
        if (name == "BNSD") return tensor;
        if (name == "BSND") return tensor.transpose(1, 2);
        const at::Tensor by_head = tensor.unflatten(2, at::IntArrayRef{-1, features});
        return name == "BSH" ? by_head.transpose(1, 2) : by_head.permute({1, 2, 0, 3});  // SBH
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
    // What positions add to the scores (pse), by its type: 0 is added as it is, 1 before the scores are scaled. Both have {1 or the batch,
    // heads, 1 or all rows, columns}, or of many rows the last 1024. Types 2 and 3 have a slope of each head, for the distance of the
    // positions or for its square root.
    OptTensor shift = std::nullopt;
    int64_t shift_type = 1;
    int64_t shift_start = 0;  // the first query's position from that of the first key
};

// The mask of scores that do not count; nothing if all count, as without a mask in each mode. From mode 2 on the mask has a fixed size and
// says no more than the mode: 2 is causal from the first row and column, 3 from the last, and 4 is a band around that diagonal.
OptTensor hidden_scores(int64_t rows, int64_t columns, const AttentionOptions& o);

// What attention gives, in BNSD: the result, and of each row of scores the maximum and the sum of exp(score - maximum), which have
// {batch, heads, positions, any number of equal values}.
struct AttentionResults {
    OptTensor result, maximum, sum;
};
struct AttentionGradients {
    at::Tensor query, key, value;
    OptTensor shift;  // only of one that is given for all rows
};

// Attention of tensors in BNSD, of which several heads of the query may share one of the key and value.
class FusedAttention {
   public:
    FusedAttention(at::Tensor query, at::Tensor key, at::Tensor value, const AttentionOptions& options);

    // Whether the shift is given for all rows, so that it has a gradient.
    bool has_whole_shift() const;
    void write_results(const AttentionResults& out) const;
    // Writes the gradients, and returns those of the sinks, which are zero without any. The given results may be those of more keys than
    // these, as in ring attention: then the gradients are the share of these. What is not given is computed again.
    at::Tensor write_gradients(const at::Tensor& dy, const AttentionResults& given, const AttentionGradients& out) const;

   private:
    struct Block;
    struct Probabilities;

    template <class Use>
    void for_each_part(bool may_part_rows, Use use) const;
    template <class Use>
    void for_each_block(const Block& part, Use use) const;
    at::Tensor of_rows(const at::Tensor& tensor, const Block& block) const;
    at::Tensor of_key_heads(const at::Tensor& tensor, const Block& block) const;
    at::Tensor for_every_head(const at::Tensor& tensor, const Block& block) const;
    int64_t columns_seen(const Block& block) const;
    at::Tensor scores(const Block& block, const at::Tensor& query, const at::Tensor& key) const;
    void hide(const at::Tensor& scores, const Block& block) const;
    at::Tensor sink_of(const Block& block) const;
    at::Tensor shift_of(const Block& block, int64_t columns) const;
    void drop_out(const at::Tensor& scores, const Block& block) const;
    Probabilities probabilities(const at::Tensor& scores, const Block& block, const AttentionResults& given) const;

    at::Tensor query_, key_, value_;
    AttentionOptions options_;
    int64_t sharing_;  // heads of the query for one of the key
    double shift_factor_;
    bool is_triangle_;  // the rows' ends are hidden, the first row's from the column first_ on
    int64_t first_ = 0;
    OptTensor hidden_, kept_;  // of all scores
};

}  // namespace torch_aclnn::host::aten
