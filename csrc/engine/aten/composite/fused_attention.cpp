#include "engine/aten/composite/fused_attention.h"

#include <cmath>
#include <limits>

#include "engine/aten/composite/dropout_mask.h"

namespace torch_aclnn::host::aten {
namespace {

// Several heads of the query may share one of the key and value.
at::Tensor for_every_head(const at::Tensor& tensor, int64_t heads) {
    return tensor.size(1) == heads ? tensor : tensor.repeat_interleave(heads / tensor.size(1), 1);
}
at::Tensor sum_of_heads(const at::Tensor& tensor, int64_t heads) {
    return tensor.size(1) == heads ? tensor : tensor.unflatten(1, at::IntArrayRef{heads, -1}).sum(2);
}

// The factors by which dropout multiplies the probabilities; nullopt without dropout.
std::optional<at::Tensor> kept(const at::Tensor& scores, const AttentionOptions& o) {
    if (!o.drop_mask || o.drop_mask->numel() == 0) return std::nullopt;
    const at::Tensor bits = unpacked_dropout_mask(*o.drop_mask, {o.first_drop_bit + scores.numel()});
    return bits.narrow(0, o.first_drop_bit, scores.numel()).reshape(scores.sizes()).to(scores.scalar_type()) / o.keep_probability;
}

at::Tensor dropped_out(const at::Tensor& probabilities, const std::optional<at::Tensor>& keep) {
    return keep ? probabilities * *keep : probabilities;
}

}  // namespace

std::optional<at::Tensor> hidden_scores(int64_t rows, int64_t columns, const AttentionOptions& o) {
    const auto given = [&] { return o.mask->to(at::kBool); };
    if (o.mode == 1) return o.mask ? std::optional(given()) : std::nullopt;
    const bool all_near = o.before >= rows - 1 && o.after >= columns - 1;
    if (o.mode == 0 && all_near) return o.mask ? std::optional(given()) : std::nullopt;
    const at::Tensor distance = at::arange(columns) - at::arange(rows).unsqueeze(1);
    if (o.mode == 2) return distance > 0;
    if (o.mode == 3) return distance > columns - rows;
    const at::Tensor far = (distance > o.after).logical_or(distance < -o.before);
    return o.mask ? given().logical_or(far) : far;
}

Attention attend(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 const AttentionOptions& o) {
    Attention a;
    const int64_t features = layout.features(query);
    a.query = layout.to_bnsd(query, features);
    const at::Tensor few_keys = layout.to_bnsd(key, features);
    const int64_t value_features = layout.name == "BNSD" || layout.name == "BSND" ? value.size(3) : value.size(2) / few_keys.size(1);
    a.key = for_every_head(few_keys, layout.heads);
    a.value = for_every_head(layout.to_bnsd(value, value_features), layout.heads);

    at::Tensor scores = at::matmul(a.query, a.key.transpose(2, 3)).mul_(o.scale);
    if (const auto hidden = hidden_scores(scores.size(2), scores.size(3), o)) scores.masked_fill_(*hidden, -INFINITY);
    a.maximum = scores.size(3) == 0 ? at::full_like(scores.sum(3, true), -INFINITY) : scores.amax(3, true);
    const at::Tensor sink = o.sink ? upcast(*o.sink).view({-1, 1, 1}) : at::Tensor();
    if (o.sink) a.maximum = at::maximum(a.maximum, sink);
    // A row of which nothing counts has no probabilities.
    scores.sub_(a.maximum.masked_fill(a.maximum == -INFINITY, 0)).exp_();
    a.sum = scores.sum(3, true);
    if (o.sink) a.sum += at::exp(sink - a.maximum);
    if (o.sink) a.of_sink = at::exp(sink - a.maximum) / a.sum;
    a.probabilities = scores.div_(a.sum.clamp_min(std::numeric_limits<float>::min()));
    a.keep = kept(scores, o);
    return a;
}

at::Tensor attended(const AttentionLayout& layout, const Attention& a) {
    return layout.from_bnsd(at::matmul(dropped_out(a.probabilities, a.keep), a.value));
}

AttentionGradients attend_backward(const AttentionLayout& layout, const Attention& a, int64_t key_heads, const at::Tensor& dy,
                                   double scale) {
    const at::Tensor grad = layout.to_bnsd(dy, a.value.size(3));
    const at::Tensor of_probabilities = dropped_out(at::matmul(grad, a.value.transpose(2, 3)), a.keep);
    const at::Tensor mean = (of_probabilities * a.probabilities).sum(3, true);
    const at::Tensor of_scores = of_probabilities.sub_(mean).mul_(a.probabilities).mul_(scale);
    const at::Tensor of_key = at::matmul(of_scores.transpose(2, 3), a.query);
    const at::Tensor of_value = at::matmul(dropped_out(a.probabilities, a.keep).transpose(2, 3), grad);
    return {layout.from_bnsd(at::matmul(of_scores, a.key)), layout.from_bnsd(sum_of_heads(of_key, key_heads)),
            layout.from_bnsd(sum_of_heads(of_value, key_heads)), a.of_sink.defined() ? -(a.of_sink * mean).sum({0, 2, 3}) : at::Tensor()};
}

}  // namespace torch_aclnn::host::aten
