#include "engine/aten/composite/fused_attention.h"

#include <cmath>
#include <limits>

#include "engine/aten/composite/dropout_mask.h"

namespace torch_aclnn::host::aten {
namespace {

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

}  // namespace

Attention attend(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 const AttentionOptions& o) {
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

at::Tensor attended(const AttentionLayout& layout, const Attention& a) {
    return layout.from_bnsd(at::matmul(a.probabilities * a.keep, a.value));
}

AttentionGradients attend_backward(const AttentionLayout& layout, const Attention& a, int64_t key_heads, const at::Tensor& dy,
                                   double scale) {
    const at::Tensor grad = layout.to_bnsd(dy, a.value.size(3));
    const at::Tensor of_probabilities = at::matmul(grad, a.value.transpose(2, 3)) * a.keep;
    const at::Tensor of_scores = a.probabilities * (of_probabilities - (of_probabilities * a.probabilities).sum(3, true)) * scale;
    const at::Tensor of_key = at::matmul(of_scores.transpose(2, 3), a.query);
    const at::Tensor of_value = at::matmul((a.probabilities * a.keep).transpose(2, 3), grad);
    return {layout.from_bnsd(at::matmul(of_scores, a.key)), layout.from_bnsd(sum_of_heads(of_key, key_heads)),
            layout.from_bnsd(sum_of_heads(of_value, key_heads))};
}

}  // namespace torch_aclnn::host::aten
