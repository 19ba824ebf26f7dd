// Which experts a token goes to (npu_moe_gating_top_k and its kin).

#include "vocabulary/moe/expert_gating_calls.h"

namespace {

struct Chosen {
    at::Tensor values, experts;
};
// Returns the k largest of each row, the first of equal ones first.
Chosen largest(const at::Tensor& x, int64_t k) {
    const auto [values, order] = at::sort(x, /*stable=*/true, -1, /*descending=*/true);
    return {values.narrow(-1, 0, k), order.narrow(-1, 0, k)};
}

// Tokens of sequences that are finished get the number of an expert that does not exist.
at::Tensor unless_finished(const at::Tensor& experts, const OptTensor& finished, int64_t none) {
    return given(finished) ? experts.masked_fill(finished->to(at::kBool).unsqueeze(-1), none) : experts;
}

Expected best(const at::Tensor& x, int64_t k) {
    return with_size(x.sizes(), -1, k);
}

// Keeps the scores of experts in the best groups; the others become -infinity.
at::Tensor of_best_groups(const at::Tensor& scores, int64_t groups, int64_t k_groups, bool by_two) {
    if (groups <= 1) return scores;
    const at::Tensor grouped = scores.unflatten(-1, at::IntArrayRef{groups, -1});
    const at::Tensor best = by_two ? largest(grouped, std::min<int64_t>(2, grouped.size(-1))).values.sum(-1) : grouped.amax(-1);
    const at::Tensor others = at::ones_like(best, at::kBool).scatter(-1, largest(best, k_groups).experts, false);
    return grouped.masked_fill(others.unsqueeze(-1), -kInfinity).flatten(-2);
}

}  // namespace

// Writes the probabilities of the experts and the k largest of them. Copy j of row i has the number j * rows + i.
static void compute(const call::MoeGatingTopKSoftmax& a) {
    const Chosen chosen = largest(at::softmax(upcast(a.x), -1), a.k);
    write(a.y, chosen.values);
    write(a.expertIdx, unless_finished(chosen.experts, a.finished, a.x.size(-1)));
    write(a.rowIdx, at::arange(chosen.experts.numel(), at::kLong).view({a.k, -1}).t());
}
// With renorm the softmax is over the k chosen experts only.
static void compute(const call::MoeGatingTopKSoftmaxV2& a) {
    const at::Tensor softmax = at::softmax(upcast(a.x), -1);
    const Chosen chosen = largest(a.renorm == 1 ? upcast(a.x) : softmax, a.k);
    write(a.y, a.renorm == 1 ? at::softmax(chosen.values, -1) : chosen.values);
    write(a.expertIdx, unless_finished(chosen.experts, a.finished, a.x.size(-1)));
    if (a.outputSoftmaxResultFlag && a.renorm == 0) write(a.softmaxResult, softmax);
}
static void check(const call::MoeGatingTopK& a) {
    require_between("k", a.k, 1, a.x.size(-1));
    require_divisor("groupCount", a.groupCount, a.x.size(-1));
    require_between("kGroup", a.kGroup, 1, a.groupCount);
    if (a.tid2eid.defined()) require_size({"tid2eid", a.tid2eid}, 0, 1);
}
// Returns the k best experts of the best groups. The bias counts for the choice only.
static at::Tensor best_experts(const call::MoeGatingTopK& a, const at::Tensor& scores) {
    const at::Tensor biased = given(a.bias) ? scores + upcast(*a.bias) : scores;
    return largest(of_best_groups(biased, a.groupCount, a.kGroup, a.groupSelectMode == 1), a.k).experts;
}
// normType 0 takes the softmax of the scores, and 1 their sigmoid, of which those of the chosen experts are divided by their sum. A table
// of {token ids, k}, where it is given, names the experts of each token id.
static void compute(const call::MoeGatingTopK& a) {
    const at::Tensor scores = a.normType == 0 ? at::softmax(upcast(a.x), -1) : at::sigmoid(upcast(a.x));
    const at::Tensor experts = a.tid2eid.defined()
                                   ? a.tid2eid.to(at::kLong).index_select(0, a.inputIds.to(at::kLong).flatten()).view(a.y.sizes())
                                   : best_experts(a, scores);
    const at::Tensor values = scores.gather(-1, experts);
    write(a.y, (a.normType == 1 ? values / (values.sum(-1, true) + a.eps) : values) * a.routedScalingFactor);
    write(a.expertIdx, experts);
    if (a.outFlag) write(a.out, scores);
}
// xNorm has the scores, of which y is made.
static void compute(const call::MoeGatingTopKBackward& a) {
    const at::Tensor scores = upcast(a.xNorm), experts = a.expertIdx.to(at::kLong), values = scores.gather(-1, experts);
    at::Tensor grad = upcast(a.gradY) * a.routedScalingFactor;
    if (a.normType == 1) {
        const at::Tensor sum = values.sum(-1, true) + a.eps;
        grad = grad / sum - (grad * values).sum(-1, true) / (sum * sum);
    }
    const at::Tensor of_scores = at::zeros_like(scores).scatter_add(-1, experts, grad.to(scores.scalar_type()));
    const at::Tensor mean = (of_scores * scores).sum(-1, true);
    write(a.gradX, a.normType == 1 ? of_scores * scores * (1 - scores) : scores * (of_scores - mean));
}
