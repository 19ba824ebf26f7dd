// Losses, forward and backward. Their sums are taken in float32 for half types.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "loss"
using namespace torch_aclnn::host::aten;

#define LOSS(entry_point, dtypes, function)                                                         \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (In, target), (Reduction, reduction), (Out, out)) { \
        write(out, function(upcast(self), upcast(target), reduction));                              \
    }
#define LOSS_BACKWARD(entry_point, dtypes, function)                                                                  \
    ATEN_ENTRY(entry_point, dtypes, (In, gradOutput), (In, self), (In, target), (Reduction, reduction), (Out, out)) { \
        write(out, function(upcast(gradOutput), upcast(self), upcast(target), reduction));                            \
    }

namespace {

// The factor of the gradient of each element's loss.
at::Tensor reduced(const at::Tensor& grad_output, int64_t numel, int64_t reduction) {
    return reduction == at::Reduction::Mean ? grad_output / numel : grad_output;
}

at::Tensor l1_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const at::Tensor difference = self - target;
    return at::sgn(difference) * reduced(grad_output, difference.numel(), reduction);
}

// ATen's kernels know int64 targets only.
at::Tensor classes(const at::Tensor& target) {
    return target.to(at::kLong);
}

// Two lengths for each member of the batch; the blank is one of the labels.
void require_ctc(const at::Tensor& log_probs, at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, int64_t blank) {
    require_as_many({{"targetLengths", target_lengths}}, {"inputLengths", input_lengths});
    require_values("inputLengths", input_lengths, 0);
    require_values("targetLengths", target_lengths, 0);
    const int64_t labels = log_probs.dim() == 0 ? 0 : log_probs.size(-1);
    if (blank >= labels) torch_aclnn::host::refuse("blank", c10::str("one of the ", labels, " labels of logProbs"), c10::str(blank));
}

}  // namespace

LOSS(aclnnMseLoss, FLOATING, at::mse_loss)
LOSS(aclnnL1Loss, FLOATING | INT64, at::l1_loss)
LOSS(aclnnSoftMarginLoss, FLOATING, at::soft_margin_loss)

LOSS_BACKWARD(aclnnMseLossBackward, FLOATING, at::mse_loss_backward)
LOSS_BACKWARD(aclnnL1LossBackward, FLOATING, l1_backward)
LOSS_BACKWARD(aclnnSoftMarginLossBackward, FLOATING, at::soft_margin_loss_backward)

ATEN_ENTRY(aclnnSmoothL1Loss, FLOATING, (In, self), (In, target), (Reduction, reduction), (NotNegativeFloat, beta), (Out, result)) {
    // ATen leaves beta 0, which is the L1 loss, to its callers.
    write(result, beta == 0 ? at::l1_loss(upcast(self), upcast(target), reduction)
                            : at::smooth_l1_loss(upcast(self), upcast(target), reduction, beta));
}
ATEN_ENTRY(aclnnSmoothL1LossBackward, FLOATING, (In, gradOut), (In, self), (In, target), (Reduction, reduction), (NotNegativeFloat, beta),
           (Out, gradInput)) {
    write(gradInput, beta == 0 ? l1_backward(upcast(gradOut), upcast(self), upcast(target), reduction)
                               : at::smooth_l1_loss_backward(upcast(gradOut), upcast(self), upcast(target), reduction, beta));
}

ATEN_ENTRY(aclnnNLLLoss, FLOATING, (In, self), (In, target), (OptIn, weight), (Reduction, reduction), (Int, ignoreIndex), (Out, out),
           (Out, totalWeight)) {
    const auto [loss, total] = at::nll_loss_forward(upcast(self), classes(target), upcast(weight), reduction, ignoreIndex);
    write(out, loss);
    write(totalWeight, total);
}
ATEN_ENTRY(aclnnNLLLossBackward, FLOATING, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Reduction, reduction),
           (Int, ignoreIndex), (In, totalWeight), (Out, out)) {
    write(out, at::nll_loss_backward(upcast(gradOutput), upcast(self), classes(target), upcast(weight), reduction, ignoreIndex,
                                     upcast(totalWeight)));
}
ATEN_ENTRY(aclnnNLLLoss2d, FLOATING, (In, self), (In, target), (OptIn, weight), (Reduction, reduction), (Int, ignoreIndex), (Out, out),
           (Out, totalWeight)) {
    const auto [loss, total] = at::nll_loss2d_forward(upcast(self), classes(target), upcast(weight), reduction, ignoreIndex);
    write(out, loss);
    write(totalWeight, total);
}
ATEN_ENTRY(aclnnNLLLoss2dBackward, FLOATING, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Reduction, reduction),
           (Int, ignoreIndex), (In, totalWeight), (Out, out)) {
    write(out, at::nll_loss2d_backward(upcast(gradOutput), upcast(self), classes(target), upcast(weight), reduction, ignoreIndex,
                                       upcast(totalWeight)));
}

ATEN_ENTRY(aclnnBinaryCrossEntropy, FLOATING, (In, self), (In, target), (OptIn, weight), (Reduction, reduction), (Out, out)) {
    write(out, at::binary_cross_entropy(upcast(self), upcast(target), upcast(weight), reduction));
}
ATEN_ENTRY(aclnnBinaryCrossEntropyBackward, FLOATING, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Reduction, reduction),
           (Out, out)) {
    write(out, at::binary_cross_entropy_backward(upcast(gradOutput), upcast(self), upcast(target), upcast(weight), reduction));
}

ATEN_ENTRY(aclnnBinaryCrossEntropyWithLogits, FLOATING | DOUBLE, (In, self), (In, target), (OptIn, weight), (OptIn, posWeight),
           (Reduction, reduction), (Out, out)) {
    write(out, at::binary_cross_entropy_with_logits(upcast(self), upcast(target), upcast(weight), upcast(posWeight), reduction));
}
// loss = -weight * (posWeight * target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))
ATEN_ENTRY(aclnnBinaryCrossEntropyWithLogitsBackward, FLOATING | DOUBLE, (In, gradOutput), (In, self), (In, target), (OptIn, weight),
           (OptIn, posWeight), (Reduction, reduction), (Out, out)) {
    const at::Tensor x = upcast(self), y = upcast(target), probability = at::sigmoid(x);
    const at::Tensor positive = posWeight ? upcast(*posWeight) * y : y;
    at::Tensor gradient = (positive + 1 - y) * probability - positive;
    if (weight) gradient = gradient * upcast(*weight);
    write(out, gradient * reduced(upcast(gradOutput), x.numel(), reduction));
}

ATEN_ENTRY(aclnnKlDiv, FLOATING | DOUBLE, (In, self), (In, target), (Reduction, reduction), (Bool, logTarget), (Out, out)) {
    write(out, at::kl_div(upcast(self), upcast(target), reduction, logTarget));
}
ATEN_ENTRY(aclnnKlDivBackward, FLOATING | DOUBLE, (In, gradOutput), (In, self), (In, target), (Reduction, reduction), (Bool, logTarget),
           (Out, out)) {
    const at::Tensor y = logTarget ? at::exp(upcast(target)) : upcast(target);
    write(out, (-y * reduced(upcast(gradOutput), self.numel(), reduction)).expand_as(out));
}
ATEN_ENTRY(aclnnKlDivTargetBackward, ANY, (In, gradOutput), (In, self), (In, target), (Reduction, reduction), (Bool, logTarget),
           (Out, gradTarget)) {
    const at::Tensor x = upcast(self), y = upcast(target);
    const at::Tensor gradient = logTarget ? at::exp(y) * (y + 1 - x) : at::log(y) + 1 - x;
    write(gradTarget, gradient * reduced(upcast(gradOutput), self.numel(), reduction));
}

// logAlpha may have a longer last dimension than ATen's, which its first elements then are.
ATEN_CHECKED_ENTRY(aclnnCtcLoss, ANY, require_ctc(logProbs, inputLengths, targetLengths, blank), (In, logProbs), (In, targets),
                   (Ints, inputLengths), (Ints, targetLengths), (NotNegative, blank), (Bool, zeroInfinity), (Out, negLogLikelihood),
                   (Out, logAlpha)) {
    const auto [loss, alpha] = at::_ctc_loss(upcast(logProbs), targets, inputLengths, targetLengths, blank, zeroInfinity);
    write(negLogLikelihood, loss);
    at::Tensor place = logAlpha.narrow(-1, 0, alpha.size(-1));
    write(place, alpha);
}
ATEN_CHECKED_ENTRY(aclnnCtcLossBackward, FLOATING | DOUBLE, require_ctc(logProbs, inputLengths, targetLengths, blank), (In, gradOut),
                   (In, logProbs), (In, targets), (Ints, inputLengths), (Ints, targetLengths), (In, negLogLikelihood), (In, logAlpha),
                   (NotNegative, blank), (Bool, zeroInfinity), (Out, out)) {
    const int64_t longest = targetLengths.empty() ? 0 : *std::max_element(targetLengths.begin(), targetLengths.end());
    write(out, at::_ctc_loss_backward(upcast(gradOut), upcast(logProbs), targets, inputLengths, targetLengths, upcast(negLogLikelihood),
                                      upcast(logAlpha.narrow(-1, 0, 2 * longest + 1)), blank, zeroInfinity));
}

ATEN_ENTRY(aclnnMultilabelMarginLoss, ANY, (In, self), (In, target), (Reduction, reduction), (Out, out), (Out, isTarget)) {
    const auto [loss, is_target] = at::multilabel_margin_loss_forward(upcast(self), classes(target), reduction);
    write(out, loss);
    write(isTarget, is_target);
}

// Of logits and probabilities of each class, for each row; and the gradient with respect to the logits.
static void require_rows(const at::Tensor& features, const at::Tensor& labels, const at::Tensor& loss, const at::Tensor& backprop) {
    if (features.dim() != 2) torch_aclnn::host::refuse("features", "2 dimensions", c10::str("shape ", features.sizes()));
    require_same_shape({"labels", labels}, {"features", features});
    require_same_shape({"backprop", backprop}, {"features", features});
    if (loss.sizes() != features.sizes().slice(0, 1))
        torch_aclnn::host::refuse("loss", c10::str("shape ", features.sizes().slice(0, 1)), c10::str("shape ", loss.sizes()));
}
ATEN_CHECKED_ENTRY(aclnnSoftmaxCrossEntropyWithLogits, FLOATING, require_rows(features, labels, loss, backprop), (In, features),
                   (In, labels), (Out, loss), (Out, backprop)) {
    const at::Tensor logarithms = at::log_softmax(upcast(features), 1), wanted = upcast(labels);
    write(loss, (wanted * logarithms).sum(1).neg());
    write(backprop, logarithms.exp() - wanted);
}
