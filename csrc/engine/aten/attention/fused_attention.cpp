#include "engine/aten/attention/fused_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/aten/random/dropout_mask.h"

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
OptTensor kept(const at::Tensor& scores, const AttentionOptions& o) {
    if (!o.drop_mask || o.drop_mask->numel() == 0) return std::nullopt;
    const at::Tensor bits = unpacked_dropout_mask(*o.drop_mask, {o.first_drop_bit + scores.numel()});
    return bits.narrow(0, o.first_drop_bit, scores.numel()).reshape(scores.sizes()).to(scores.scalar_type()) / o.keep_probability;
}

at::Tensor dropped_out(const at::Tensor& probabilities, const OptTensor& keep) {
    return keep ? probabilities * *keep : probabilities;
}

at::Tensor scaled_scores(const Attention& a, double scale) {
    const at::Tensor query = a.query.flatten(0, 1), key = a.key.flatten(0, 1).transpose(1, 2);
    const at::Tensor nothing = at::empty({1, 1, 1}, query.options());  // multiplied by 0, it is not read
    return at::baddbmm(nothing, query, key, 0, scale).unflatten(0, {a.query.size(0), a.query.size(1)});
}

// In modes 2 and 3 the ends of rows are hidden by copies, which takes a tenth of the time of masked_fill_, which goes from element to
// element.
void hide(const at::Tensor& scores, const AttentionOptions& o) {
    const int64_t rows = scores.size(2), columns = scores.size(3), first = o.mode == 3 ? columns - rows + 1 : 1;
    const auto hidden = hidden_scores(rows, columns, o);
    if (!hidden || scores.numel() == 0) return;
    if ((o.mode != 2 && o.mode != 3) || scores.scalar_type() != at::kFloat) return void(scores.masked_fill_(*hidden, -INFINITY));
    const std::vector<float> infinite(columns, -INFINITY);
    auto* const all = scores.data_ptr<float>();
    at::parallel_for(0, scores.numel() / columns, at::internal::GRAIN_SIZE / columns + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
            const int64_t seen = std::clamp<int64_t>(row % rows + first, 0, columns);
            std::memcpy(all + row * columns + seen, infinite.data(), (columns - seen) * sizeof(float));
        }
    });
}

// Whether there is a row of which no score counts.
bool is_any_hidden(const at::Tensor& maximum) {
    return (maximum == -INFINITY).any().item<bool>();
}

// The largest score's probability is 1 / sum.
void set_probabilities(Attention& a, const at::Tensor& scores) {
    a.probabilities = at::softmax(scores, 3);
    a.sum = a.probabilities.amax(3, true).reciprocal_();
}

// A row of which nothing counts has no probabilities.
void set_probabilities_of_any(Attention& a, at::Tensor& scores, const AttentionOptions& o) {
    const at::Tensor sink = o.sink ? upcast(*o.sink).view({-1, 1, 1}) : at::Tensor();
    if (o.sink) a.maximum = at::maximum(a.maximum, sink);
    scores.sub_(a.maximum.masked_fill(a.maximum == -INFINITY, 0)).exp_();
    a.sum = scores.sum(3, true);
    if (o.sink) a.sum += at::exp(sink - a.maximum);
    if (o.sink) a.of_sink = at::exp(sink - a.maximum) / a.sum;
    a.probabilities = scores.div_(a.sum.clamp_min(std::numeric_limits<float>::min()));
}

}  // namespace

OptTensor hidden_scores(int64_t rows, int64_t columns, const AttentionOptions& o) {
    if (!o.mask) return std::nullopt;  // neither modes nor distances count then
    const bool all_near = o.before >= rows - 1 && o.after >= columns - 1;
    if (o.mode == 1 || (o.mode == 0 && all_near)) return o.mask->to(at::kBool);
    const int64_t last = o.mode > 2 ? columns - rows : 0;  // the columns that the first row has before or below it
    const at::Tensor distance = at::arange(-last, columns - last) - at::arange(rows).unsqueeze(1);
    if (o.mode == 2 || o.mode == 3) return distance > 0;
    const at::Tensor far = (distance > o.after).logical_or(distance < -o.before);
    return o.mode == 4 ? far : o.mask->to(at::kBool).logical_or(far);
}

Attention attend(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                 const AttentionOptions& o) {
    Attention a;
    const int64_t features = layout.features(query);
    a.query = layout.to_bnsd(query, features);
    const at::Tensor few_keys = layout.to_bnsd(key, features);
    a.key_heads = few_keys.size(1);
    const int64_t value_features = layout.name == "BNSD" || layout.name == "BSND" ? value.size(3) : value.size(2) / a.key_heads;
    a.key = for_every_head(few_keys, layout.heads);
    a.value = for_every_head(layout.to_bnsd(value, value_features), layout.heads);

    at::Tensor scores = scaled_scores(a, o.scale);
    hide(scores, o);
    a.maximum = scores.size(3) == 0 ? at::full_like(scores.sum(3, true), -INFINITY) : scores.amax(3, true);
    if (o.sink || is_any_hidden(a.maximum))
        set_probabilities_of_any(a, scores, o);
    else
        set_probabilities(a, scores);
    a.keep = kept(a.probabilities, o);
    return a;
}

at::Tensor attended(const AttentionLayout& layout, const Attention& a) {
    return layout.from_bnsd(at::matmul(dropped_out(a.probabilities, a.keep), a.value));
}

static at::Tensor gradient_of_sink(const Attention& a, const at::Tensor& of_probabilities) {
    if (!a.of_sink.defined()) return {};
    return -(a.of_sink * (of_probabilities * a.probabilities).sum(3, true)).sum({0, 2, 3});
}

AttentionGradients attend_backward(const AttentionLayout& layout, const Attention& a, const at::Tensor& dy, double scale) {
    const at::Tensor grad = layout.to_bnsd(dy, a.value.size(3));
    const at::Tensor of_probabilities = dropped_out(at::matmul(grad, a.value.transpose(2, 3)), a.keep);
    const at::Tensor of_scores =
        at::_softmax_backward_data(of_probabilities, a.probabilities, 3, a.probabilities.scalar_type()).mul_(scale);
    const at::Tensor of_key = at::matmul(of_scores.transpose(2, 3), a.query);
    const at::Tensor of_value = at::matmul(dropped_out(a.probabilities, a.keep).transpose(2, 3), grad);
    return {layout.from_bnsd(at::matmul(of_scores, a.key)), layout.from_bnsd(sum_of_heads(of_key, a.key_heads)),
            layout.from_bnsd(sum_of_heads(of_value, a.key_heads)), gradient_of_sink(a, of_probabilities)};
}

}  // namespace torch_aclnn::host::aten
