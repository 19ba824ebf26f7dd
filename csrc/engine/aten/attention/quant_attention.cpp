// Attention of query, key and value of eight bits, which the 950 has, and its gradients. Blocks of 128, 256 or 512 positions of a head have
// a scale each. Where a product takes probabilities, or the gradient of scores, these are times their factor and rounded to eight bits.
#include "engine/aten/attention/attention_arguments.h"
#include "engine/aten/matmul/matmul.h"
#include "engine/aten/numerics/undocumented.h"
#include "engine/aten/quantization/low_precision_floats.h"
#include "vocabulary/attention/quant_attention_calls.h"

namespace {

struct EightBitAttention {
    const PackableTensor &query, &key, &value;
    const at::Tensor &query_scale, &key_scale, &value_scale;
    AttentionLayout layout;
    double scale;
    int64_t before, after;

    int64_t features() const { return layout.features(query.placeholder()); }
    int64_t positions(const PackableTensor& x) const { return x.sizes()[layout.name.find('S')]; }
    int64_t heads_of(const PackableTensor& x) const { return layout.to_bnsd(x.placeholder(), features()).size(1); }
    Expected statistics() const { return shape({query.sizes()[layout.name.find('B')], layout.heads, positions(query), 1}); }
    Expected result() const {
        return at::IntArrayRef(
            attended_shape(layout.name, layout.heads, query.placeholder(), key.placeholder(), value.placeholder()).sizes);
    }
    // Returns how many positions have one scale.
    static int64_t block_of(const char* name, const at::Tensor& scale, int64_t positions) {
        for (const int64_t block : {128, 256, 512})
            if (scale.dim() == 4 && scale.size(2) == (positions + block - 1) / block) return block;
        refuse(name, c10::str("4 dimensions, and a scale for each 128, 256 or 512 of ", positions, " positions"),
               shape_text(scale.sizes()));
    }
    void require_scale(const char* name, const at::Tensor& of, int64_t heads, int64_t positions) const {
        block_of(name, of, positions);
        require_expected(name, of, shape({query.sizes()[layout.name.find('B')], heads, of.size(2), 1}));
    }
    void require(const OptTensor& mask) const {
        require_attention(layout.name, layout.heads, {"query", query.placeholder()}, {"key", key.placeholder()},
                          {"value", value.placeholder()});
        require_not_given("attenMask", mask);
        for (const auto& [name, tensor] : {NamedPackable{"key", key}, {"value", value}})
            if (tensor.float_type() != query.float_type())
                refuse(name, to_string(query.float_type()) + ", as query has", to_string(tensor.float_type()));
        if (has_half_a_byte(query.float_type()) || query.float_type() == ACL_FLOAT8_E8M0)
            refuse("query", "HIFLOAT8, FLOAT8_E4M3FN or FLOAT8_E5M2", to_string(query.float_type()));
        if (positions(key) == 0) refuse("key", "at least one position", "none");
        require_scale("dScaleQ", query_scale, layout.heads, positions(query));
        require_scale("dScaleK", key_scale, heads_of(key), positions(key));
        require_scale("dScaleV", value_scale, heads_of(key), positions(key));
    }

    // Returns x in BNSD, scaled, and repeated for every head of the query.
    at::Tensor scaled(const at::Tensor& x, int64_t features_of_head, const at::Tensor& of) const {
        const at::Tensor rows = layout.to_bnsd(x, features_of_head);
        const int64_t count = rows.size(2);
        const at::Tensor each = to_double(of).repeat_interleave(block_of("scale", of, count), 2).narrow(2, 0, count);
        return (rows * each).repeat_interleave(layout.heads / rows.size(1), 1);
    }
    at::Tensor queries() const { return scaled(query.values(), features(), query_scale); }
    at::Tensor keys() const { return scaled(key.values(), features(), key_scale); }
    int64_t value_features() const { return layout.name.back() == 'H' ? value.sizes().back() / heads_of(key) : value.sizes().back(); }
    at::Tensor values() const { return scaled(value.values(), value_features(), value_scale); }
    at::Tensor scores(const at::Tensor& queries, const at::Tensor& keys) const {
        at::Tensor scores = at::matmul(queries, keys.transpose(2, 3)).mul_(scale);
        const at::Tensor none = at::zeros({}, at::kBool);  // distances apply without a mask too
        const AttentionOptions options{std::nullopt, none, scale, 1, before, after, 0};
        if (const auto hidden = hidden_scores(scores.size(2), scores.size(3), options)) scores.masked_fill_(*hidden, -INFINITY);
        return scores;
    }

    at::Tensor rounded(const at::Tensor& x, const OptTensor& factor) const {
        const aclDataType type = query.float_type();
        const at::Tensor by = given(factor) ? to_double(*factor) : at::ones({1}, at::kDouble);
        return decoded(encoded(x * by, type, type == ACL_HIFLOAT8 ? "round" : "rint"), type) / by;
    }
    // Writes the sum of the heads that share one of the key and value.
    void write_of_keys(const at::Tensor& out, const at::Tensor& gradient) const {
        write(out, layout.from_bnsd(gradient.unflatten(1, at::IntArrayRef{heads_of(key), -1}).sum(2)));
    }
};

}  // namespace

template <class Arguments>
static EightBitAttention eight_bits(const Arguments& a) {
    return {a.query, a.key, a.value, a.dScaleQ, a.dScaleK, a.dScaleV, {a.inputLayout, a.headNum}, a.scaleValue, a.preTokens, a.nextTokens};
}

static void compute(const call::QuantFlashAttentionScore& a) {
    fill_reserved_if_unspecified(a.softmaxOut);
    const EightBitAttention x = eight_bits(a);
    const at::Tensor scores = x.scores(x.queries(), x.keys()), maximum = scores.amax(3, true);
    // A row of which nothing counts has no probabilities.
    const at::Tensor powers = x.rounded((scores - maximum.masked_fill(maximum == -INFINITY, 0)).exp_(), a.pScale),
                     sum = powers.sum(3, true);
    write(a.softmaxMax, maximum);
    write(a.softmaxSum, sum);
    write(a.attentionOut, x.layout.from_bnsd(at::matmul(powers, x.values()) / sum.masked_fill(sum == 0, 1)));
}
static void compute(const call::QuantFlashAttentionScoreGrad& a) {
    const EightBitAttention x = eight_bits(a);
    const int64_t features = x.value_features();
    const at::Tensor grad = x.scaled(a.dy.values(), features, a.dScaleDy), query_values = x.queries(), key_values = x.keys();
    const at::Tensor maximum = to_double(a.softmaxMax), sum = to_double(a.softmaxSum), scores = x.scores(query_values, key_values);
    const at::Tensor powers = (scores - maximum.masked_fill(maximum == -INFINITY, 0)).exp_();
    const at::Tensor probabilities = powers / sum.masked_fill(sum == 0, 1);
    const at::Tensor mean = (x.layout.to_bnsd(to_double(a.attentionIn), features) * grad).sum(3, true);
    const at::Tensor of_scores = (at::matmul(grad, x.values().transpose(2, 3)) - mean) * probabilities;
    const at::Tensor rounded = x.rounded(of_scores, a.dsScale) * a.scaleValue;
    write(a.dq, x.layout.from_bnsd(at::matmul(rounded, key_values)));
    x.write_of_keys(a.dk, at::matmul(rounded.transpose(2, 3), query_values));
    x.write_of_keys(a.dv, at::matmul(x.rounded(probabilities, a.pScale).transpose(2, 3), grad));
}
