// The loss of a classification whose classes are spread over ranks, with the product that makes the logits: what each rank computes before
// the ranks exchange their maxima, and after that, and the gradients.

#include "vocabulary/training/fused_cross_entropy_calls.h"

// Packs bits from the highest of each byte on; unused bits of the last byte are set.
static at::Tensor packed_bits(const at::Tensor& truth) {
    const int64_t bytes = (truth.numel() + 7) / 8;
    at::Tensor bits = at::ones({bytes * 8}, at::kInt);
    bits.narrow(0, 0, truth.numel()).copy_(truth);
    return (bits.view({bytes, 8}) * at::bitwise_left_shift(at::ones({8}, at::kInt), at::arange(7, -1, -1, at::kInt))).sum(1);
}
static at::Tensor unpacked_bits(const at::Tensor& bytes, int64_t count) {
    const at::Tensor bits = at::bitwise_right_shift(bytes.to(at::kInt).unsqueeze(1), at::arange(7, -1, -1, at::kInt));
    return at::bitwise_and(bits, 1).flatten().narrow(0, 0, count);
}

static void compute(const call::FusedLinearOnlineMaxSum& a) {
    if (a.input.size(0) == 0) return;
    const at::Tensor logits = at::matmul(upcast(a.input), upcast(a.weight).t()), max = logits.amax(1), lower = logits - max.unsqueeze(1);
    const at::Tensor elsewhere = a.target.lt(a.vocabStartIndex).logical_or(a.target.gt(a.vocabEndIndex));
    const at::Tensor own = (a.target.to(at::kLong) - a.vocabStartIndex).masked_fill(elsewhere, 0);
    write(a.logitsMaxLocal, max);
    write(a.sumExpLogitsLocal, at::exp(lower).sum(1));
    write(a.predictedLogitsLocal, lower.gather(1, own.unsqueeze(1)).squeeze(1).masked_fill(elsewhere, 0));
    write(a.targetMask, packed_bits(elsewhere));
    write(a.maskedTarget, own);
    write(a.vocabParallelLogits, logits);
}
static void compute(const call::FusedCrossEntropyLossWithMaxSum& a) {
    write(a.loss, at::log(a.sumExpLogits) - a.predictedLogits);
    if (a.vocabParallelLogits)
        write(a.softmax, at::exp(upcast(*a.vocabParallelLogits) - a.logitsMax.unsqueeze(1)) / a.sumExpLogits.unsqueeze(1));
}
static void compute(const call::FusedLinearCrossEntropyLossGrad& a) {
    at::Tensor of_logits =
        a.softmax ? a.softmax->clone()
                  : at::exp(at::matmul(upcast(a.input), upcast(a.weight).t()) - a.logitsMax->unsqueeze(1)) / a.sumExpLogits->unsqueeze(1);
    require_indices("maskedTarget", a.maskedTarget, a.weight.size(0));
    const at::Tensor own = (unpacked_bits(a.targetMask, a.input.size(0)) - 1).to(at::kFloat);
    of_logits.scatter_add_(1, a.maskedTarget.to(at::kLong).unsqueeze(1), own.unsqueeze(1));
    of_logits *= upcast(a.grad).unsqueeze(1);
    write(a.inputGrad, at::matmul(of_logits, upcast(a.weight)));
    write(a.weightGrad, at::matmul(of_logits.t(), upcast(a.input)));
}
