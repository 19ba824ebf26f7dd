// The loss of a classification, from logits in one step (npu_cross_entropy_loss).
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "loss"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

std::string_view read_reduction_name(const char* name, const char* text) {
    return read_choice(name, text, {"mean", "sum", "none"});
}

at::Tensor classes_of(const at::Tensor& targets, int64_t classes, int64_t ignored) {
    at::Tensor target = targets.to(at::kLong);
    if (ignored >= 0) target = target.masked_fill(target.eq(ignored), 0);
    require_indices("target", target, classes);
    return target;
}

// Terms of both the loss and its gradient: a weight for each class, the share of the smooth part, and which targets count.
struct Terms {
    at::Tensor target, weight, of_target, counts;
    double smoothing;
    std::string_view reduction;

    // A target that is ignored counts as one of class 0, whatever its number is.
    Terms(const at::Tensor& targets, const std::optional<at::Tensor>& weights, int64_t classes, double smoothing,
          std::string_view reduction, int64_t ignored)
        : target(classes_of(targets, classes, ignored)),
          weight(weights ? upcast(*weights) : at::ones({classes})),
          of_target(weight.index_select(0, target)),
          counts(ignored < 0 ? at::ones_like(of_target) : targets.ne(ignored).to(at::kFloat)),
          smoothing(smoothing),
          reduction(reduction) {}

    at::Tensor divisor() const { return reduction == "mean" ? (of_target * counts).sum() : at::ones({}); }
};

void require_terms(const char* name, const at::Tensor& input, double smoothing, double scale_of_z) {
    if (input.dim() != 2) refuse(name, "2 dimensions", shape_text(input.sizes()));
    require_number_between("labelSmoothing", smoothing, 0, 1);
    if (scale_of_z != 0) refuse("lseSquareScaleForZloss", "0: no other is supported", c10::str(scale_of_z));
}

// One loss for each row, or one value.
Elements losses(const at::Tensor& input, std::string_view reduction) {
    return elements(reduction == "none" ? input.size(0) : 1);
}

void require_false(const char* name, bool value) {
    if (value) refuse(name, "false: no other is supported", "true");
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using ReductionName = Kind<const char*, std::string_view, std::string_view, read_reduction_name>;
}

// Nothing is written to what the z-loss has.
ATEN_CHECKED_ENTRY(aclnnCrossEntropyLoss, FLOATING,
                   (require_terms("input", input, labelSmoothing, lseSquareScaleForZloss), require_false("returnZloss", returnZloss)),
                   (In, input), (In, target, shape({input.size(0)})), (OptIn, weight, shape({input.size(1)})), (ReductionName, reduction),
                   (Int, ignoreIndex), (Double, labelSmoothing), (Double, lseSquareScaleForZloss), (Bool, returnZloss),
                   (Out, lossOut, losses(input, reduction)), (Out, logProbOut, like(input)), (OptOut, zlossOut, any_shape()),
                   (OptOut, lseForZlossOut, any_shape())) {
    const Terms terms(target, weight, input.size(1), labelSmoothing, reduction, ignoreIndex);
    const at::Tensor logarithms = at::log_softmax(upcast(input), 1);
    const at::Tensor own = -logarithms.gather(1, terms.target.unsqueeze(1)).squeeze(1) * terms.of_target;
    const at::Tensor smooth = -(logarithms * terms.weight).sum(1);
    const at::Tensor loss = (own * (1 - labelSmoothing) + smooth * (labelSmoothing / input.size(1))) * terms.counts;
    write(lossOut, reduction == "none" ? loss : loss.sum() / terms.divisor());
    write(logProbOut, logarithms);
}
ATEN_CHECKED_ENTRY(aclnnCrossEntropyLossGrad, FLOATING,
                   (require_terms("logProb", logProb, labelSmoothing, lseSquareScaleForZloss), require_not_given("gradZloss", gradZloss),
                    require_not_given("lseForZloss", lseForZloss)),
                   (In, gradLoss, losses(logProb, reduction)), (In, logProb), (In, target, shape({logProb.size(0)})),
                   (OptIn, weight, shape({logProb.size(1)})), (OptIn, gradZloss), (OptIn, lseForZloss), (ReductionName, reduction),
                   (Int, ignoreIndex), (Double, labelSmoothing), (Double, lseSquareScaleForZloss), (Out, out, like(logProb))) {
    const int64_t classes = logProb.size(1);
    const Terms terms(target, weight, classes, labelSmoothing, reduction, ignoreIndex);
    const at::Tensor probabilities = at::exp(upcast(logProb));
    const at::Tensor target_only = at::zeros_like(probabilities).scatter(1, terms.target.unsqueeze(1), 1);
    const at::Tensor own = (probabilities - target_only) * terms.of_target.unsqueeze(1);
    const at::Tensor smooth = probabilities * terms.weight.sum() - terms.weight;
    const at::Tensor grad = upcast(gradLoss) * terms.counts / terms.divisor();
    write(out, (own * (1 - labelSmoothing) + smooth * (labelSmoothing / classes)) * grad.unsqueeze(1));
}
