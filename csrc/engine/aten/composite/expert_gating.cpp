// Which experts a token goes to (npu_moe_gating_top_k and its kin).
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "mixture of experts"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

struct Chosen {
    at::Tensor values, experts;
};
// The k largest of each row: the first of equal ones first.
Chosen largest(const at::Tensor& x, int64_t k) {
    const auto [values, order] = at::sort(x, /*stable=*/true, -1, /*descending=*/true);
    return {values.narrow(-1, 0, k), order.narrow(-1, 0, k)};
}

void require_k(const at::Tensor& x, int64_t k) {
    if (x.dim() < 1) refuse("x", "at least 1 dimension", "none");
    require_between("k", k, 1, x.size(-1));
}

// The number of an expert that is none, for tokens of sequences that are finished.
at::Tensor unless_finished(const at::Tensor& experts, const std::optional<at::Tensor>& finished, int64_t none) {
    return given(finished) ? experts.masked_fill(finished->to(at::kBool).unsqueeze(-1), none) : experts;
}

// Of each row the k best experts.
Expected best(const at::Tensor& x, int64_t k) {
    return with_size(x.sizes(), -1, k);
}

// Which experts of the groups that are best; the others become -infinity.
at::Tensor of_best_groups(const at::Tensor& scores, int64_t groups, int64_t k_groups, bool by_two) {
    if (groups <= 1) return scores;
    const at::Tensor grouped = scores.unflatten(-1, at::IntArrayRef{groups, -1});
    const at::Tensor best = by_two ? largest(grouped, std::min<int64_t>(2, grouped.size(-1))).values.sum(-1) : grouped.amax(-1);
    const at::Tensor others = at::ones_like(best, at::kBool).scatter(-1, largest(best, k_groups).experts, false);
    return grouped.masked_fill(others.unsqueeze(-1), -std::numeric_limits<double>::infinity()).flatten(-2);
}

void require_groups(const at::Tensor& x, int64_t k, int64_t k_group, int64_t group_count) {
    require_k(x, k);
    if (x.size(-1) % group_count != 0) refuse("groupCount", c10::str("a divisor of ", x.size(-1)), std::to_string(group_count));
    require_between("kGroup", k_group, 1, group_count);
}

at::Tensor scores_of(const at::Tensor& x, int64_t norm_type) {
    return norm_type == 0 ? at::softmax(upcast(x), -1) : at::sigmoid(upcast(x));
}
// The chosen experts' scores; those of sigmoid by their sum.
at::Tensor weights_of(const at::Tensor& scores, const at::Tensor& experts, int64_t norm_type, double eps) {
    const at::Tensor values = scores.gather(-1, experts);
    return norm_type == 1 ? values / (values.sum(-1, true) + eps) : values;
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using NoRenorm = Between<int64_t, 0, 0>;
}  // namespace torch_aclnn::host::aten::kind

// Probabilities of the experts and the k largest of them. Row i's copy j has the number j * rows + i.
ATEN_CHECKED_ENTRY(aclnnMoeGatingTopKSoftmax, FLOATING, require_k(x, k), (In, x), (OptIn, finished, or_empty(without_dim(x.sizes(), -1))),
                   (Int, k), (Out, y, best(x, k)), (Out, expertIdx, best(x, k)), (Out, rowIdx, best(x, k))) {
    const Chosen chosen = largest(at::softmax(upcast(x), -1), k);
    write(y, chosen.values);
    write(expertIdx, unless_finished(chosen.experts, finished, x.size(-1)));
    write(rowIdx, at::arange(chosen.experts.numel(), at::kLong).view({k, -1}).t());
}
// With renorm the probabilities are of the k alone.
ATEN_CHECKED_ENTRY(aclnnMoeGatingTopKSoftmaxV2, FLOATING, require_k(x, k), (In, x), (OptIn, finished, or_empty(without_dim(x.sizes(), -1))),
                   (Int, k), (TrueOrNot, renorm), (Bool, outputSoftmaxResultFlag), (Out, y, best(x, k)), (Out, expertIdx, best(x, k)),
                   (OptOut, softmaxResult, if_wanted(outputSoftmaxResultFlag&& renorm == 0, shaped_like(x)))) {
    const at::Tensor softmax = at::softmax(upcast(x), -1);
    const Chosen chosen = largest(renorm == 1 ? upcast(x) : softmax, k);
    write(y, renorm == 1 ? at::softmax(chosen.values, -1) : chosen.values);
    write(expertIdx, unless_finished(chosen.experts, finished, x.size(-1)));
    if (outputSoftmaxResultFlag && renorm == 0) write(softmaxResult, softmax);
}
// Softmax (normType 0) or sigmoid (1), the best groups of experts, and of these the k best experts. The bias counts for the choice only.
ATEN_CHECKED_ENTRY(aclnnMoeGatingTopK, FLOATING, require_groups(x, k, kGroup, groupCount), (In, x),
                   (OptIn, bias, or_empty(shape({x.size(-1)}))), (Positive, k), (Positive, kGroup), (Positive, groupCount),
                   (TrueOrNot, groupSelectMode), (NoRenorm, renorm), (TrueOrNot, normType), (Bool, outFlag), (Double, routedScalingFactor),
                   (Double, eps), (Out, y, best(x, k)), (Out, expertIdx, best(x, k)), (OptOut, out, if_wanted(outFlag, shaped_like(x)))) {
    const at::Tensor scores = scores_of(x, normType);
    const at::Tensor biased = given(bias) ? scores + upcast(*bias) : scores;
    const Chosen chosen = largest(of_best_groups(biased, groupCount, kGroup, groupSelectMode == 1), k);
    write(y, weights_of(scores, chosen.experts, normType, eps) * routedScalingFactor);
    write(expertIdx, chosen.experts);
    if (outFlag) write(out, scores);
}
// The table {token numbers, k} says which experts the tokens of a number go to.
ATEN_CHECKED_ENTRY(aclnnMoeGatingTopKV2, FLOATING, (require_a_row({"tid2eid", tid2eid}), require_groups(x, k, kGroup, groupCount)), (In, x),
                   (OptIn, bias, or_empty(shape({x.size(-1)}))), (Indices, inputIds, without_dim(x.sizes(), -1)),
                   (Indices, tid2eid, shape({tid2eid.dim() == 2 ? tid2eid.size(0) : 0, k})), (Positive, k), (Positive, kGroup),
                   (Positive, groupCount), (TrueOrNot, groupSelectMode), (NoRenorm, renorm), (TrueOrNot, normType), (Bool, outFlag),
                   (Double, routedScalingFactor), (Double, eps), (Out, y, best(x, k)), (Out, expertIdx, best(x, k)),
                   (OptOut, out, if_wanted(outFlag, shaped_like(x)))) {
    const at::Tensor scores = scores_of(x, normType);
    const at::Tensor experts = tid2eid.to(at::kLong).index_select(0, inputIds.to(at::kLong).flatten()).view(y.sizes());
    write(y, weights_of(scores, experts, normType, eps) * routedScalingFactor);
    write(expertIdx, experts);
    if (outFlag) write(out, scores);
}
// xNorm are the scores, of which y is made.
ATEN_CHECKED_ENTRY(aclnnMoeGatingTopKBackward, FLOATING, require_between("expertIdx", size_of(expertIdx, -1), 1, size_of(xNorm, -1)),
                   (In, xNorm), (In, gradY, best(xNorm, expertIdx.size(-1))), (Indices, expertIdx, best(xNorm, size_of(expertIdx, -1))),
                   (NoRenorm, renorm), (TrueOrNot, normType), (Double, routedScalingFactor), (Double, eps),
                   (Out, gradX, Expected(xNorm.sizes(), gradY.scalar_type()))) {
    const at::Tensor scores = upcast(xNorm), experts = expertIdx.to(at::kLong), values = scores.gather(-1, experts);
    at::Tensor grad = upcast(gradY) * routedScalingFactor;
    if (normType == 1) {
        const at::Tensor sum = values.sum(-1, true) + eps;
        grad = grad / sum - (grad * values).sum(-1, true) / (sum * sum);
    }
    const at::Tensor of_scores = at::zeros_like(scores).scatter_add(-1, experts, grad.to(scores.scalar_type()));
    const at::Tensor mean = (of_scores * scores).sum(-1, true);
    write(gradX, normType == 1 ? of_scores * scores * (1 - scores) : scores * (of_scores - mean));
}
