// Attention of edges (i, k) to paths by way of j: to the edges (i, j) and (j, k), with one softmax over j.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "attention"
using namespace torch_aclnn::host::aten;

namespace {

// Edges of {batch, heads, n, m, features}, by way of k. The other two factors are {.., n, k, ..} and {.., k, m, ..}.
at::Tensor products(const at::Tensor& edges, const at::Tensor& first, const at::Tensor& second) {
    const at::Tensor by_second = at::matmul(edges.transpose(2, 3), second.permute({0, 1, 3, 4, 2})).transpose(2, 3);
    return at::matmul(edges, first.transpose(3, 4)) + by_second;
}
at::Tensor sums(const at::Tensor& weights, const at::Tensor& first, const at::Tensor& second) {
    return at::matmul(weights, first) + at::matmul(weights.transpose(2, 3), second.transpose(2, 3)).transpose(2, 3);
}
// What belongs to the other factors: of {n, m, k} and the edges.
at::Tensor of_first(const at::Tensor& weights, const at::Tensor& edges) {
    return at::matmul(weights.transpose(3, 4), edges);
}
at::Tensor of_second(const at::Tensor& weights, const at::Tensor& edges) {
    return at::matmul(weights.permute({0, 1, 3, 4, 2}), edges.transpose(2, 3)).transpose(2, 3);
}

struct TriangleAttention {
    at::Tensor query, key1, value1, key2, value2, maximum, sum, weights;

    TriangleAttention(const at::Tensor& q, const at::Tensor& k1, const at::Tensor& v1, const at::Tensor& k2, const at::Tensor& v2,
                      const std::optional<at::Tensor>& mask, double scale)
        : query(upcast(q)), key1(upcast(k1)), value1(upcast(v1)), key2(upcast(k2)), value2(upcast(v2)) {
        at::Tensor scores = products(query, key1, key2) * scale;
        if (mask) scores = scores.masked_fill(mask->to(at::kBool), -std::numeric_limits<double>::infinity());
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

#define TRIANGLE_INPUTS                                                                                                       \
    (In, queryIk, rank(5)), (In, keyIj, with_size(queryIk.sizes(), 3, size_of(keyIj, 3))), (In, valueIj, shaped_like(keyIj)), \
        (In, keyJk, with_size(queryIk.sizes(), 2, keyIj.size(3))), (In, valueJk, shaped_like(keyJk))
#define TRIANGLE_MASK (OptIn, attenMask, shape({queryIk.size(0), 1, queryIk.size(2), 1, keyIj.size(3)}))
#define TRIANGLE TriangleAttention(queryIk, keyIj, valueIj, keyJk, valueJk, attenMask, scaleValue)

ATEN_ENTRY(aclnnFusedFloydAttention, FLOAT16 | BF16, TRIANGLE_INPUTS, TRIANGLE_MASK, (Double, scaleValue),
           (Out, softmaxMax, eight(queryIk)), (Out, softmaxSum, eight(queryIk)), (Out, attentionOut, like(queryIk))) {
    const TriangleAttention a = TRIANGLE;
    write(attentionOut, sums(a.weights, a.value1, a.value2));
    softmaxMax.copy_(a.maximum.expand_as(softmaxMax));
    softmaxSum.copy_(a.sum.expand_as(softmaxSum));
}
ATEN_ENTRY(aclnnFusedFloydAttentionGrad, FLOAT16 | BF16, TRIANGLE_INPUTS, (In, dy, shaped_like(queryIk)), TRIANGLE_MASK,
           (In, softmaxMax, eight(queryIk)), (In, softmaxSum, eight(queryIk)), (In, attentionIn, shaped_like(queryIk)),
           (Double, scaleValue), (Out, dQueryIk, like(queryIk)), (Out, dKeyIj, like(keyIj)), (Out, dValueIj, like(valueIj)),
           (Out, dKeyJk, like(keyJk)), (Out, dValueJk, like(valueJk))) {
    const TriangleAttention a = TRIANGLE;
    const at::Tensor grad = upcast(dy), of_weights = products(grad, a.value1, a.value2);
    const at::Tensor of_scores = (of_weights - (of_weights * a.weights).sum(4, true)) * a.weights * scaleValue;
    write(dQueryIk, sums(of_scores, a.key1, a.key2));
    write(dKeyIj, of_first(of_scores, a.query));
    write(dValueIj, of_first(a.weights, grad));
    write(dKeyJk, of_second(of_scores, a.query));
    write(dValueJk, of_second(a.weights, grad));
}
