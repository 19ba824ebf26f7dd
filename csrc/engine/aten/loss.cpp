// Losses, forward and backward. Their sums are taken in float32 for half types.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "loss"
using namespace torch_aclnn::host::aten;

#define LOSS(entry_point, dtypes, function)                                                                                        \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (In, target), (Reduction, reduction), (Out, out, lost(self, target, reduction))) { \
        write(out, function(upcast(self), upcast(target), reduction));                                                             \
    }
#define LOSS_BACKWARD(entry_point, dtypes, function)                                                    \
    ATEN_ENTRY(entry_point, dtypes, (In, gradOutput), (In, self), (In, target), (Reduction, reduction), \
               (Out, out, with_gradient({"gradOutput", gradOutput}, self, target))) {                   \
        write(out, function(upcast(gradOutput), upcast(self), upcast(target), reduction));              \
    }

namespace {

using torch_aclnn::host::refuse;

// The loss of each element, or one for all, which some callers give a dimension.
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

// The scores of each class of one element or of several, or of planes; the elements' classes; and the classes' weights.
Expected elements_of(const at::Tensor& self) {
    if (self.dim() != 1 && self.dim() != 2) refuse("self", "1 or 2 dimensions", shape_text(self.sizes()));
    return self.sizes().slice(0, self.dim() - 1);
}
Expected pixels_of(const at::Tensor& self) {
    if (self.dim() != 4) refuse("self", "4 dimensions", shape_text(self.sizes()));
    return without_dim(self.sizes(), 1);
}
int64_t classes_of(const at::Tensor& self) {
    return self.size(self.dim() == 1 ? 0 : 1);
}

// The factor of the gradient of each element's loss.
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

// The parts of a call of ctc: two lengths for each member of the batch, within logProbs and targets; the blank is one of the labels.
struct Ctc {
    const at::Tensor &log_probs, &targets;
    at::IntArrayRef input_lengths, target_lengths;

    int64_t longest_target() const { return target_lengths.empty() ? 0 : *std::max_element(target_lengths.begin(), target_lengths.end()); }
    // Joined one after the other, or in rows.
    bool joined() const { return targets.dim() == 1; }
    Expected of_each() const { return shape({log_probs.size(1)}); }
    // The last dimension may be longer than ATen's, which its first elements then are.
    Expected alpha(const at::Tensor& given) const {
        const int64_t own = given.dim() == 3 ? given.size(2) : 0;
        return shape({log_probs.size(1), log_probs.size(0), std::max(own, 2 * longest_target() + 1)});
    }

    void require(int64_t blank) const {
        if (log_probs.dim() != 3) refuse("logProbs", "3 dimensions", shape_text(log_probs.sizes()));
        require_as_many({{"inputLengths", input_lengths}, {"targetLengths", target_lengths}},
                        {"dimension 1 of logProbs", log_probs.size(1)});
        require_lengths("inputLengths", input_lengths, log_probs.size(0));
        if (!joined() && (targets.dim() != 2 || targets.size(0) != log_probs.size(1)))
            refuse("targets", c10::str("1 dimension, or 2 with ", log_probs.size(1), " rows"), shape_text(targets.sizes()));
        require_lengths("targetLengths", target_lengths, targets.size(-1));
        int64_t left = targets.size(-1);
        for (const int64_t length : target_lengths)
            if (joined() && (left -= length) < 0)
                refuse("targetLengths", c10::str("lengths whose sum is ", targets.size(0)), c10::str(target_lengths));
        const int64_t labels = log_probs.size(2);
        if (blank >= labels) refuse("blank", c10::str("one of the ", labels, " labels of logProbs"), c10::str(blank));
    }
    static void require_lengths(const char* name, at::IntArrayRef lengths, int64_t longest) {
        require_values(name, lengths, 0);
        for (const int64_t length : lengths)
            if (length > longest) refuse(name, c10::str("lengths of at most ", longest), c10::str(length));
    }

    // Only what is within the lengths is a label.
    void require_labels() const {
        const at::Tensor labels = targets.to(at::kLong);
        const at::Tensor used =
            joined() ? at::ones_like(labels, at::kBool) : at::arange(labels.size(1)).lt(at::tensor(target_lengths, at::kLong).unsqueeze(1));
        require_indices("targets", at::where(used, labels, 0), log_probs.size(2));
    }
};

// ATen multiplies in place of one of the two.
at::Tensor soft_margin(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const std::vector<at::Tensor> both = at::broadcast_tensors({self, target});
    return at::soft_margin_loss(both[0], both[1], reduction);
}

}  // namespace

LOSS(aclnnMseLoss, FLOATING, at::mse_loss)
LOSS(aclnnMseLossOut, FLOATING, at::mse_loss)
LOSS(aclnnL1Loss, FLOATING | INT64, at::l1_loss)
LOSS(aclnnSoftMarginLoss, FLOATING, soft_margin)

LOSS_BACKWARD(aclnnMseLossBackward, FLOATING, at::mse_loss_backward)
LOSS_BACKWARD(aclnnL1LossBackward, FLOATING, l1_backward)
LOSS_BACKWARD(aclnnSoftMarginLossBackward, FLOATING, at::soft_margin_loss_backward)

ATEN_ENTRY(aclnnSmoothL1Loss, FLOATING, (In, self), (In, target), (Reduction, reduction), (NotNegativeFloat, beta),
           (Out, result, lost(self, target, reduction))) {
    // ATen leaves beta 0, which is the L1 loss, to its callers.
    write(result, beta == 0 ? at::l1_loss(upcast(self), upcast(target), reduction)
                            : at::smooth_l1_loss(upcast(self), upcast(target), reduction, beta));
}
ATEN_ENTRY(aclnnSmoothL1LossBackward, FLOATING, (In, gradOut), (In, self), (In, target), (Reduction, reduction), (NotNegativeFloat, beta),
           (Out, gradInput, with_gradient({"gradOut", gradOut}, self, target))) {
    write(gradInput, beta == 0 ? l1_backward(upcast(gradOut), upcast(self), upcast(target), reduction)
                               : at::smooth_l1_loss_backward(upcast(gradOut), upcast(self), upcast(target), reduction, beta));
}

ATEN_ENTRY(aclnnNLLLoss, FLOATING, (In, self), (In, target, elements_of(self)), (OptIn, weight, shape({classes_of(self)})),
           (Reduction, reduction), (Int, ignoreIndex), (Out, out, lost(elements_of(self), reduction)), (Out, totalWeight, elements(1))) {
    const auto [loss, total] = at::nll_loss_forward(upcast(self), classes(target), upcast(weight), reduction, ignoreIndex);
    write(out, loss);
    write(totalWeight, total);
}
ATEN_ENTRY(aclnnNLLLossBackward, FLOATING, (In, gradOutput, lost(elements_of(self), reduction)), (In, self),
           (In, target, elements_of(self)), (OptIn, weight, shape({classes_of(self)})), (Reduction, reduction), (Int, ignoreIndex),
           (In, totalWeight, elements(1)), (Out, out, like(self))) {
    require_classes(target, classes_of(self), ignoreIndex);
    write(out, at::nll_loss_backward(upcast(gradOutput), dense(self), classes(target), upcast(weight), reduction, ignoreIndex,
                                     upcast(totalWeight)));
}
ATEN_ENTRY(aclnnNLLLoss2d, FLOATING, (In, self), (In, target, pixels_of(self)), (OptIn, weight, shape({classes_of(self)})),
           (Reduction, reduction), (Int, ignoreIndex), (Out, out, lost(pixels_of(self), reduction)), (Out, totalWeight, elements(1))) {
    const auto [loss, total] = at::nll_loss2d_forward(upcast(self), classes(target), upcast(weight), reduction, ignoreIndex);
    write(out, loss);
    write(totalWeight, total);
}
ATEN_ENTRY(aclnnNLLLoss2dBackward, FLOATING, (In, gradOutput, lost(pixels_of(self), reduction)), (In, self), (In, target, pixels_of(self)),
           (OptIn, weight, shape({classes_of(self)})), (Reduction, reduction), (Int, ignoreIndex), (In, totalWeight, elements(1)),
           (Out, out, like(self))) {
    require_classes(target, classes_of(self), ignoreIndex);
    write(out, at::nll_loss2d_backward(upcast(gradOutput), dense(self), classes(target), upcast(weight), reduction, ignoreIndex,
                                       upcast(totalWeight)));
}

ATEN_ENTRY(aclnnBinaryCrossEntropy, FLOATING, (In, self), (In, target, shaped_like(self)), (OptIn, weight, losses(self, target)),
           (Reduction, reduction), (Out, out, lost(like(self), reduction))) {
    write(out, at::binary_cross_entropy(upcast(self), upcast(target), upcast(weight), reduction));
}
ATEN_ENTRY(aclnnBinaryCrossEntropyBackward, FLOATING, (In, gradOutput, losses(self, target)), (In, self), (In, target, shaped_like(self)),
           (OptIn, weight, losses(self, target)), (Reduction, reduction), (Out, out, like(self))) {
    write(out, at::binary_cross_entropy_backward(upcast(gradOutput), upcast(self), upcast(target), upcast(weight), reduction));
}

ATEN_ENTRY(aclnnBinaryCrossEntropyWithLogits, FLOATING, (In, self), (In, target), (OptIn, weight, losses(self, target)),
           (OptIn, posWeight, losses(self, target)), (Reduction, reduction), (Out, out, lost(self, target, reduction))) {
    const std::vector<at::Tensor> both = at::broadcast_tensors({upcast(self), upcast(target)});
    write(out, at::binary_cross_entropy_with_logits(both[0], both[1], upcast(weight), upcast(posWeight), reduction));
}
// loss = -weight * (posWeight * target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))
ATEN_ENTRY(aclnnBinaryCrossEntropyWithLogitsBackward, FLOATING, (In, gradOutput, losses(self, target)), (In, self), (In, target),
           (OptIn, weight, losses(self, target)), (OptIn, posWeight, losses(self, target)), (Reduction, reduction),
           (Out, out, broadcast({{"self", self}, {"target", target}}))) {
    const at::Tensor x = upcast(self), y = upcast(target), probability = at::sigmoid(x);
    const at::Tensor positive = posWeight ? upcast(*posWeight) * y : y;
    at::Tensor gradient = (positive + 1 - y) * probability - positive;
    if (weight) gradient = gradient * upcast(*weight);
    write(out, gradient * gradient_factor(upcast(gradOutput), x.numel(), reduction));
}

ATEN_ENTRY(aclnnBinaryCrossEntropyWithLogitsTargetBackward, FLOATING, (In, gradOutput, losses(self, target)), (In, self),
           (In, target, shaped_like(self)), (OptIn, weightOptional, losses(self, target)), (OptIn, posWeightOptional, losses(self, target)),
           (Reduction, reduction), (Out, gradTarget, like(target))) {
    const at::Tensor x = upcast(self), log_of_one = at::log_sigmoid(x);
    at::Tensor gradient = at::log_sigmoid(-x) - (posWeightOptional ? upcast(*posWeightOptional) * log_of_one : log_of_one);
    if (weightOptional) gradient = gradient * upcast(*weightOptional);
    write(gradTarget, gradient * gradient_factor(upcast(gradOutput), x.numel(), reduction));
}

ATEN_ENTRY(aclnnKlDiv, FLOATING, (In, self), (In, target), (Reduction, reduction), (Bool, logTarget),
           (Out, out, lost(self, target, reduction))) {
    write(out, at::kl_div(upcast(self), upcast(target), reduction, logTarget));
}
ATEN_ENTRY(aclnnKlDivBackward, FLOATING | DOUBLE, (In, gradOutput, broadcasts_to(shaped_like(self))), (In, self),
           (In, target, broadcasts_to(shaped_like(self))), (Reduction, reduction), (Bool, logTarget), (Out, out, like(self))) {
    const at::Tensor y = logTarget ? at::exp(upcast(target)) : upcast(target);
    write(out, (-y * gradient_factor(upcast(gradOutput), self.numel(), reduction)).expand_as(out));
}
ATEN_ENTRY(aclnnKlDivTargetBackward, ANY, (In, gradOutput, broadcasts_to(shaped_like(target))),
           (In, self, broadcasts_to(shaped_like(target))), (In, target), (Reduction, reduction), (Bool, logTarget),
           (Out, gradTarget, like(target))) {
    const at::Tensor x = upcast(self), y = upcast(target);
    const at::Tensor gradient = logTarget ? at::exp(y) * (y + 1 - x) : at::log(y) + 1 - x;
    write(gradTarget, gradient * gradient_factor(upcast(gradOutput), self.numel(), reduction));
}

#define CTC                                            \
    Ctc {                                              \
        logProbs, targets, inputLengths, targetLengths \
    }
ATEN_CHECKED_ENTRY(aclnnCtcLoss, FLOAT | DOUBLE, CTC.require(blank), (In, logProbs), (In, targets), (Ints, inputLengths),
                   (Ints, targetLengths), (NotNegative, blank), (Bool, zeroInfinity), (Out, negLogLikelihood, CTC.of_each()),
                   (Out, logAlpha, CTC.alpha(logAlpha))) {
    CTC.require_labels();
    const auto [loss, alpha] = at::_ctc_loss(upcast(logProbs), targets, inputLengths, targetLengths, blank, zeroInfinity);
    write(negLogLikelihood, loss);
    at::Tensor place = logAlpha.narrow(-1, 0, alpha.size(-1));
    write(place, alpha);
}
ATEN_CHECKED_ENTRY(aclnnCtcLossBackward, FLOAT | DOUBLE, CTC.require(blank), (In, gradOut, CTC.of_each()), (In, logProbs), (In, targets),
                   (Ints, inputLengths), (Ints, targetLengths), (In, negLogLikelihood, CTC.of_each()), (In, logAlpha, CTC.alpha(logAlpha)),
                   (NotNegative, blank), (Bool, zeroInfinity), (Out, out, like(logProbs))) {
    CTC.require_labels();
    write(out, at::_ctc_loss_backward(upcast(gradOut), upcast(logProbs), targets, inputLengths, targetLengths, upcast(negLogLikelihood),
                                      upcast(logAlpha.narrow(-1, 0, 2 * CTC.longest_target() + 1)), blank, zeroInfinity));
}

// Only the batch may be empty.
static void require_classes(const at::Tensor& self) {
    if (self.dim() > 2 || self.dim() == 0 || self.size(-1) == 0)
        torch_aclnn::host::refuse("self", "1 or 2 dimensions, with classes", shape_text(self.sizes()));
}
ATEN_CHECKED_ENTRY(aclnnMultilabelMarginLoss, FLOATING, require_classes(self), (In, self), (In, target, shaped_like(self)),
                   (Reduction, reduction), (Out, out, lost(elements_of(self), reduction)), (Out, isTarget, as_many_as(target))) {
    const auto [loss, is_target] = at::multilabel_margin_loss_forward(upcast(self), classes(target), reduction);
    write(out, loss);
    write(isTarget, is_target);
}

// Of logits and probabilities of each class, for each row; and the gradient with respect to the logits.
static Expected rows_of(const at::Tensor& features) {
    if (features.dim() != 2) refuse("features", "2 dimensions", shape_text(features.sizes()));
    return features.sizes().slice(0, 1);
}
ATEN_ENTRY(aclnnSoftmaxCrossEntropyWithLogits, FLOATING, (In, features), (In, labels, shaped_like(features)),
           (Out, loss, rows_of(features)), (Out, backprop, like(features))) {
    const at::Tensor logarithms = at::log_softmax(upcast(features), 1), wanted = upcast(labels);
    write(loss, (wanted * logarithms).sum(1).neg());
    write(backprop, logarithms.exp() - wanted);
}
