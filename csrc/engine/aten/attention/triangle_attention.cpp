// Attention of edges (i, k) to paths by way of j: to the edges (i, j) and (j, k), with one softmax over j.

#include "vocabulary/attention/triangle_attention_calls.h"

namespace {

// Edges of {batch, heads, n, m, features}, by way of k. The other two factors are {.., n, k, ..} and {.., k, m, ..}.
at::Tensor products(const at::Tensor& edges, const at::Tensor& first, const at::Tensor& second) {
    const at::Tensor by_second = at::matmul(edges.transpose(2, 3), second.permute({0, 1, 3, 4, 2})).transpose(2, 3);
    return at::matmul(edges, first.transpose(3, 4)) + by_second;
}
at::Tensor sums(const at::Tensor& weights, const at::Tensor& first, const at::Tensor& second) {
    return at::matmul(weights, first) + at::matmul(weights.transpose(2, 3), second.transpose(2, 3)).transpose(2, 3);
}
// The products that belong to the other two factors, of weights {n, m, k} and the edges.
at::Tensor of_first(const at::Tensor& weights, const at::Tensor& edges) {
    return at::matmul(weights.transpose(3, 4), edges);
}
at::Tensor of_second(const at::Tensor& weights, const at::Tensor& edges) {
    return at::matmul(weights.permute({0, 1, 3, 4, 2}), edges.transpose(2, 3)).transpose(2, 3);
}

struct TriangleAttention {
    at::Tensor query, key1, value1, key2, value2, maximum, sum, weights;

    TriangleAttention(const at::Tensor& q, const at::Tensor& k1, const at::Tensor& v1, const at::Tensor& k2, const at::Tensor& v2,
                      const OptTensor& mask, double scale)
        : query(upcast(q)), key1(upcast(k1)), value1(upcast(v1)), key2(upcast(k2)), value2(upcast(v2)) {
        at::Tensor scores = products(query, key1, key2) * scale;
        if (mask) scores = scores.masked_fill(mask->to(at::kBool), -kInfinity);
        maximum = scores.amax(4, true);
        const at::Tensor powers = at::exp(scores - maximum.nan_to_num(0, 0, 0));
        sum = powers.sum(4, true);
        weights = powers / sum.masked_fill(sum.eq(0), 1);
    }
};

Expected eight(const at::Tensor& edges) {
    return with_size(edges.sizes(), -1, 8);
}

}  // namespace

static void compute(const call::FusedFloydAttention& a) {
    const TriangleAttention x(a.queryIk, a.keyIj, a.valueIj, a.keyJk, a.valueJk, a.attenMask, a.scaleValue);
    write(a.attentionOut, sums(x.weights, x.value1, x.value2));
    a.softmaxMax.copy_(x.maximum.expand_as(a.softmaxMax));
    a.softmaxSum.copy_(x.sum.expand_as(a.softmaxSum));
}
static void compute(const call::FusedFloydAttentionGrad& a) {
    const TriangleAttention x(a.queryIk, a.keyIj, a.valueIj, a.keyJk, a.valueJk, a.attenMask, a.scaleValue);
    const at::Tensor grad = upcast(a.dy), of_weights = products(grad, x.value1, x.value2);
    const at::Tensor of_scores = (of_weights - (of_weights * x.weights).sum(4, true)) * x.weights * a.scaleValue;
    write(a.dQueryIk, sums(of_scores, x.key1, x.key2));
    write(a.dKeyIj, of_first(of_scores, x.query));
    write(a.dValueIj, of_first(x.weights, grad));
    write(a.dKeyJk, of_second(of_scores, x.query));
    write(a.dValueJk, of_second(x.weights, grad));
}
