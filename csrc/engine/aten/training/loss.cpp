// Losses, forward and backward. Their sums are taken in float32 for half types.

#include "vocabulary/training/loss_calls.h"

namespace {

// Each element has a loss, or there is one for all, which some callers give a dimension.
Either lost(const Expected& of_each, int64_t reduction) {
    return reduction == at::Reduction::None ? either(of_each, of_each) : either(one_value(), shape({1}));
}
Either lost(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    return lost(broadcast({{"self", self}, {"target", target}}), reduction);
}
Expected with_gradient(const NamedShape& gradient, const at::Tensor& self, const at::Tensor& target) {
    return broadcast({{"self", self}, {"target", target}, gradient});
}

BroadcastsTo losses(const at::Tensor& self, const at::Tensor& target) {
    return broadcasts_to(broadcast({{"self", self}, {"target", target}}));
}

// The scores of each class of one element or of several; the elements' classes; and the classes' weights.
Expected elements_of(const at::Tensor& self) {
    return self.sizes().slice(0, std::max<int64_t>(self.dim() - 1, 0));
}
int64_t classes_of(const at::Tensor& self) {
    return self.size(self.dim() == 1 ? 0 : 1);
}

at::Tensor gradient_factor(const at::Tensor& grad_output, int64_t numel, int64_t reduction) {
    return reduction == at::Reduction::Mean ? grad_output / numel : grad_output;
}

at::Tensor l1_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const at::Tensor difference = self - target;
    return at::sgn(difference) * gradient_factor(grad_output, difference.numel(), reduction);
}

// ATen's kernels know int64 targets only.
at::Tensor classes(const at::Tensor& target) {
    return target.to(at::kLong);
}

// ATen's gradients trust the classes.
void require_classes(const at::Tensor& target, int64_t classes_of_self, int64_t ignored) {
    const at::Tensor ids = classes(target);
    require_indices("target", at::where(ids == ignored, 0, ids), classes_of_self);
}

// The parts of a call of ctc: two lengths for each member of the batch, within logProbs and targets, and a blank, which is one of the
// labels.
struct Ctc {
    const at::Tensor &log_probs, &targets;
    at::IntArrayRef input_lengths, target_lengths;

    int64_t longest_target() const { return target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end()); }
    // Whether targets are joined one after the other, rather than in rows.
    bool joined() const { return targets.dim() == 1; }
    Expected of_each() const { return shape({log_probs.size(1)}); }
    // The last dimension may be longer than ATen's, which its first elements then are.
    Expected alpha(const at::Tensor& given) const {
        const int64_t own = given.dim() == 3 ? given.size(2) : 0;
        return shape({log_probs.size(1), log_probs.size(0), std::max(own, 2 * longest_target() + 1)});
    }

    void require(int64_t blank) const {
        require_as_many({{"inputLengths", input_lengths}, {"targetLengths", target_lengths}},
                        {"dimension 1 of logProbs", log_probs.size(1)});
        require_values("inputLengths", input_lengths, 0, log_probs.size(0));
        if (!joined()) require_expected("targets", targets, shape({log_probs.size(1), kAny}));
        require_values("targetLengths", target_lengths, 0, targets.size(-1));
        int64_t left = targets.size(-1);
        for (const int64_t length : target_lengths)
            if (joined() && (left -= length) < 0)
                refuse("targetLengths", c10::str("lengths whose sum is ", targets.size(0)), c10::str(target_lengths));
        const int64_t labels = log_probs.size(2);
        if (blank >= labels) refuse("blank", c10::str("one of the ", labels, " labels of logProbs"), c10::str(blank));
    }

    // Only what is within the lengths must be a label.
    void require_labels() const {
        const at::Tensor labels = targets.to(at::kLong);
        const at::Tensor used =
            joined() ? at::ones_like(labels, at::kBool) : at::arange(labels.size(1)).lt(at::tensor(target_lengths, at::kLong).unsqueeze(1));
        require_indices("targets", at::where(used, labels, 0), log_probs.size(2));
    }
};

// Returns the logarithm of 1 + exp(-x y). ATen's own function computes the exponential, which overflows in float32 from 89 on.
at::Tensor soft_margin(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const at::Tensor losses = at::softplus(-self * target);
    return reduction == at::Reduction::None ? losses : reduction == at::Reduction::Mean ? losses.mean() : losses.sum();
}
at::Tensor soft_margin_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const at::Tensor gradient = -target * at::sigmoid(-self * target);
    return gradient * gradient_factor(grad_output, gradient.numel(), reduction);
}

}  // namespace

static Ctc ctc(const auto& a) {
    return {a.logProbs, a.targets, a.inputLengths, a.targetLengths};
}

static void compute(const call::NLLLossBackward& a) {
    require_classes(a.target, classes_of(a.self), a.ignoreIndex);
    write(a.out, at::nll_loss_backward(upcast(a.gradOutput), dense(a.self), classes(a.target), upcast(a.weight), a.reduction, a.ignoreIndex,
                                       upcast(a.totalWeight)));
}
static void compute(const call::NLLLoss2dBackward& a) {
    require_classes(a.target, classes_of(a.self), a.ignoreIndex);
    write(a.out, at::nll_loss2d_backward(upcast(a.gradOutput), dense(a.self), classes(a.target), upcast(a.weight), a.reduction,
                                         a.ignoreIndex, upcast(a.totalWeight)));
}

static void compute(const call::BinaryCrossEntropyWithLogits& a) {
    const std::vector<at::Tensor> both = at::broadcast_tensors({upcast(a.self), upcast(a.target)});
    write(a.out, at::binary_cross_entropy_with_logits(both[0], both[1], upcast(a.weight), upcast(a.posWeight), a.reduction));
}
// loss = -weight * (posWeight * target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))
static void compute(const call::BinaryCrossEntropyWithLogitsBackward& a) {
    const at::Tensor x = upcast(a.self), y = upcast(a.target), probability = at::sigmoid(x);
    const at::Tensor positive = a.posWeight ? upcast(*a.posWeight) * y : y;
    at::Tensor gradient = (positive + 1 - y) * probability - positive;
    if (a.weight) gradient = gradient * upcast(*a.weight);
    write(a.out, gradient * gradient_factor(upcast(a.gradOutput), a.out.numel(), a.reduction));
}

static void compute(const call::BinaryCrossEntropyWithLogitsTargetBackward& a) {
    const at::Tensor x = upcast(a.self), log_of_one = at::log_sigmoid(x);
    at::Tensor gradient = at::log_sigmoid(-x) - (a.posWeightOptional ? upcast(*a.posWeightOptional) * log_of_one : log_of_one);
    if (a.weightOptional) gradient = gradient * upcast(*a.weightOptional);
    write(a.gradTarget, gradient * gradient_factor(upcast(a.gradOutput), x.numel(), a.reduction));
}

static void compute(const call::KlDivBackward& a) {
    const at::Tensor y = a.logTarget ? at::exp(upcast(a.target)) : upcast(a.target);
    write(a.out, (-y * gradient_factor(upcast(a.gradOutput), a.self.numel(), a.reduction)).expand_as(a.out));
}
static void compute(const call::KlDivTargetBackward& a) {
    const at::Tensor x = upcast(a.self), y = upcast(a.target);
    const at::Tensor factor = gradient_factor(upcast(a.gradOutput), y.numel(), a.reduction);
    // An element of 0 has no part in the loss, and no gradient.
    write(a.gradTarget, a.logTarget ? factor * at::exp(y) * (y + 1 - x) : (factor * (at::log(y) + 1 - x)).masked_fill(y == 0, 0));
}

static void compute(const call::CtcLoss& a) {
    ctc(a).require_labels();
    const auto [loss, alpha] = at::_ctc_loss(upcast(a.logProbs), a.targets, a.inputLengths, a.targetLengths, a.blank, a.zeroInfinity);
    write(a.negLogLikelihood, loss);
    at::Tensor place = a.logAlpha.narrow(-1, 0, alpha.size(-1));
    write(place, alpha);
}
static void compute(const call::CtcLossBackward& a) {
    ctc(a).require_labels();
    write(a.out, at::_ctc_loss_backward(upcast(a.gradOut), upcast(a.logProbs), a.targets, a.inputLengths, a.targetLengths,
                                        upcast(a.negLogLikelihood), upcast(a.logAlpha.narrow(-1, 0, 2 * ctc(a).longest_target() + 1)),
                                        a.blank, a.zeroInfinity));
}

static void compute(const call::SoftmaxCrossEntropyWithLogits& a) {
    const at::Tensor logarithms = at::log_softmax(upcast(a.features), 1), wanted = upcast(a.labels);
    write(a.loss, (wanted * logarithms).sum(1).neg());
    write(a.backprop, logarithms.exp() - wanted);
}
