// The loss of a classification, from logits in one step (npu_cross_entropy_loss).

#include "vocabulary/training/cross_entropy_calls.h"

namespace {

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
    Terms(const at::Tensor& targets, const OptTensor& weights, int64_t classes, double smoothing, std::string_view reduction,
          int64_t ignored)
        : target(classes_of(targets, classes, ignored)),
          weight(weights ? upcast(*weights) : at::ones({classes})),
          of_target(weight.index_select(0, target)),
          counts(ignored < 0 ? at::ones_like(of_target) : targets.ne(ignored).to(at::kFloat)),
          smoothing(smoothing),
          reduction(reduction) {}

    // Returns rows with zeros for those whose target is ignored, whatever they are.
    at::Tensor of_counted_rows(const at::Tensor& rows) const {
        const at::Tensor ignored = counts.eq(0);
        return rows.masked_fill(rows.dim() == 1 ? ignored : ignored.unsqueeze(1), 0);
    }
    at::Tensor divisor() const { return reduction == "mean" ? (of_target * counts).sum() : at::ones({}); }
};

// There is one loss for each row, or one value.
Elements losses(const at::Tensor& input, std::string_view reduction) {
    return elements(reduction == "none" ? input.size(0) : 1);
}

}  // namespace

// Nothing is written to the outputs of the z-loss.
static void compute(const call::CrossEntropyLoss& a) {
    const Terms terms(a.target, a.weight, a.input.size(1), a.labelSmoothing, a.reduction, a.ignoreIndex);
    const at::Tensor logarithms = at::log_softmax(upcast(a.input), 1);
    const at::Tensor own = -logarithms.gather(1, terms.target.unsqueeze(1)).squeeze(1) * terms.of_target;
    const at::Tensor smooth = -(logarithms * terms.weight).sum(1);
    const at::Tensor loss = terms.of_counted_rows(own * (1 - a.labelSmoothing) + smooth * (a.labelSmoothing / a.input.size(1)));
    write(a.lossOut, a.reduction == "none" ? loss : loss.sum() / terms.divisor());
    write(a.logProbOut, logarithms);
}
static void compute(const call::CrossEntropyLossGrad& a) {
    const int64_t classes = a.logProb.size(1);
    const Terms terms(a.target, a.weight, classes, a.labelSmoothing, a.reduction, a.ignoreIndex);
    const at::Tensor probabilities = at::exp(upcast(a.logProb));
    const at::Tensor target_only = at::zeros_like(probabilities).scatter(1, terms.target.unsqueeze(1), 1);
    const at::Tensor own = (probabilities - target_only) * terms.of_target.unsqueeze(1);
    const at::Tensor smooth = probabilities * terms.weight.sum() - terms.weight;
    const at::Tensor grad = upcast(a.gradLoss).expand({a.logProb.size(0)}) / terms.divisor();
    write(a.out, terms.of_counted_rows((own * (1 - a.labelSmoothing) + smooth * (a.labelSmoothing / classes)) * grad.unsqueeze(1)));
}
