// Attention of query, key and value of eight bits, which the 950 has, and its gradients. Blocks of 128, 256 or 512 positions of a head have
// a scale each. Where a product takes probabilities, or the gradient of scores, these are times their factor and rounded to eight bits.
#include "engine/aten/composite/attention_arguments.h"
#include "engine/aten/composite/few_bit_floats.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "attention"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

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
    // How many positions have one scale.
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
    void require(const std::optional<at::Tensor>& mask) const {
        require_attention(layout.name, layout.heads, {"query", query.placeholder()}, {"key", key.placeholder()},
                          {"value", value.placeholder()}, std::nullopt, std::nullopt);
        require_not_given("attenMask", mask);
        for (const auto& [name, tensor] : {std::pair<const char*, const PackableTensor&>{"key", key}, {"value", value}})
            if (tensor.float_type() != query.float_type())
                refuse(name, torch_aclnn::host::to_string(query.float_type()) + ", as query has",
                       torch_aclnn::host::to_string(tensor.float_type()));
        if (has_half_a_byte(query.float_type()) || query.float_type() == ACL_FLOAT8_E8M0)
            refuse("query", "HIFLOAT8, FLOAT8_E4M3FN or FLOAT8_E5M2", torch_aclnn::host::to_string(query.float_type()));
        if (positions(key) == 0) refuse("key", "at least one position", "none");
        require_scale("dScaleQ", query_scale, layout.heads, positions(query));
        require_scale("dScaleK", key_scale, heads_of(key), positions(key));
        require_scale("dScaleV", value_scale, heads_of(key), positions(key));
    }

    // In BNSD, for every head of the query.
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
        const AttentionOptions options{std::nullopt, std::nullopt, scale, 1, before, after, 0};
        if (const auto hidden = hidden_scores(scores.size(2), scores.size(3), options)) scores.masked_fill_(*hidden, -INFINITY);
        return scores;
    }

    at::Tensor rounded(const at::Tensor& x, const std::optional<at::Tensor>& factor) const {
        const aclDataType type = query.float_type();
        const at::Tensor by = given(factor) ? to_double(*factor) : at::ones({1}, at::kDouble);
        return decoded(encoded(x * by, type, type == ACL_HIFLOAT8 ? "round" : "rint"), type) / by;
    }
    // The sum of the heads that share one of the key and value.
    void write_of_keys(const at::Tensor& out, const at::Tensor& gradient) const {
        write(out, layout.from_bnsd(gradient.unflatten(1, at::IntArrayRef{heads_of(key), -1}).sum(2)));
    }
};

}  // namespace

namespace torch_aclnn::host::aten::kind {
using AttentionType = Between<int64_t, 0, 1>;  // of the result
}  // namespace torch_aclnn::host::aten::kind

#define EIGHT_BITS \
    (EightBitAttention{query, key, value, dScaleQ, dScaleK, dScaleV, {inputLayout, headNum}, scaleValue, preTokens, nextTokens})
#define EIGHT_BIT_OPERANDS (FewBits, query), (FewBits, key), (FewBits, value)
#define EIGHT_BIT_SCALES (In, dScaleQ), (In, dScaleK), (In, dScaleV)
#define EIGHT_BIT_ATTRIBUTES \
    (Double, scaleValue), (Int, preTokens), (Int, nextTokens), (Positive, headNum), (AttentionLayout, inputLayout), (OnlyZero, sparseMode)

ATEN_CHECKED_ENTRY(aclnnQuantFlashAttentionScore, ANY_FEW_BITS, EIGHT_BITS.require(attenMask), EIGHT_BIT_OPERANDS, (OptIn, attenMask),
                   EIGHT_BIT_SCALES, (OptIn, pScale, or_empty(shape({1}))), EIGHT_BIT_ATTRIBUTES,
                   (Out, softmaxMax, EIGHT_BITS.statistics()), (Out, softmaxSum, EIGHT_BITS.statistics()),
                   (OptOut, softmaxOut, any_shape()), (Out, attentionOut, EIGHT_BITS.result())) {
    fill_reserved_if_unspecified(softmaxOut);
    const EightBitAttention a = EIGHT_BITS;
    const at::Tensor scores = a.scores(a.queries(), a.keys()), maximum = scores.amax(3, true);
    // A row of which nothing counts has no probabilities.
    const at::Tensor powers = a.rounded((scores - maximum.masked_fill(maximum == -INFINITY, 0)).exp_(), pScale), sum = powers.sum(3, true);
    write(softmaxMax, maximum);
    write(softmaxSum, sum);
    write(attentionOut, a.layout.from_bnsd(at::matmul(powers, a.values()) / sum.masked_fill(sum == 0, 1)));
}
ATEN_CHECKED_ENTRY(aclnnQuantFlashAttentionScoreGrad, ANY_FEW_BITS,
                   (EIGHT_BITS.require(attenMask), EIGHT_BITS.require_scale("dScaleDy", dScaleDy, headNum, EIGHT_BITS.positions(query))),
                   EIGHT_BIT_OPERANDS, (FewBits, dy, EIGHT_BITS.result()), (OptIn, attenMask), (In, softmaxMax, EIGHT_BITS.statistics()),
                   (In, softmaxSum, EIGHT_BITS.statistics()), (In, attentionIn, EIGHT_BITS.result()), EIGHT_BIT_SCALES, (In, dScaleDy),
                   (OptIn, dsScale, or_empty(shape({1}))), (OptIn, pScale, or_empty(shape({1}))), EIGHT_BIT_ATTRIBUTES,
                   (AttentionType, outDtype), (Out, dq, Expected(query.sizes())), (Out, dk, Expected(key.sizes())),
                   (Out, dv, Expected(value.sizes()))) {
    const EightBitAttention a = EIGHT_BITS;
    const int64_t features = a.value_features();
    const at::Tensor grad = a.scaled(dy.values(), features, dScaleDy), query_values = a.queries(), key_values = a.keys();
    const at::Tensor maximum = to_double(softmaxMax), sum = to_double(softmaxSum), scores = a.scores(query_values, key_values);
    const at::Tensor powers = (scores - maximum.masked_fill(maximum == -INFINITY, 0)).exp_();
    const at::Tensor probabilities = powers / sum.masked_fill(sum == 0, 1);
    const at::Tensor mean = (a.layout.to_bnsd(to_double(attentionIn), features) * grad).sum(3, true);
    const at::Tensor of_scores = (at::matmul(grad, a.values().transpose(2, 3)) - mean) * probabilities;
    const at::Tensor rounded = a.rounded(of_scores, dsScale) * scaleValue;
    write(dq, a.layout.from_bnsd(at::matmul(rounded, key_values)));
    a.write_of_keys(dk, at::matmul(rounded.transpose(2, 3), query_values));
    a.write_of_keys(dv, at::matmul(a.rounded(probabilities, pScale).transpose(2, 3), grad));
}
