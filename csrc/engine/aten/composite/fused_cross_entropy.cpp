// The loss of a classification whose classes are spread over ranks, with the product that makes the logits: what each rank computes before
// the ranks compare, after it, and backwards.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "loss"
using namespace torch_aclnn::host::aten;

namespace {

// Bits from the highest of each byte on; what remains of the last byte is set.
at::Tensor packed_bits(const at::Tensor& truth) {
    const int64_t bytes = (truth.numel() + 7) / 8;
    at::Tensor bits = at::ones({bytes * 8}, at::kInt);
    bits.narrow(0, 0, truth.numel()).copy_(truth);
    return (bits.view({bytes, 8}) * at::bitwise_left_shift(at::ones({8}, at::kInt), at::arange(7, -1, -1, at::kInt))).sum(1);
}
at::Tensor unpacked_bits(const at::Tensor& bytes, int64_t count) {
    const at::Tensor bits = at::bitwise_right_shift(bytes.to(at::kInt).unsqueeze(1), at::arange(7, -1, -1, at::kInt));
    return at::bitwise_and(bits, 1).flatten().narrow(0, 0, count);
}

void require_factors(const at::Tensor& input, const at::Tensor& weight) {
    using torch_aclnn::host::refuse;
    if (input.dim() != 2) refuse("input", "2 dimensions", shape_text(input.sizes()));
    if (weight.dim() != 2 || weight.size(1) != input.size(1))
        refuse("weight", c10::str("2 dimensions, the second of ", input.size(1)), shape_text(weight.sizes()));
}
void require_classes(const at::Tensor& weight, int64_t first, int64_t last) {
    if (weight.dim() == 2) require_between("vocabEndIndex", last, first, first + weight.size(0) - 1);
}
// Either the softmax, or what it is made of.
void require_softmax(const std::optional<at::Tensor>& softmax, const std::optional<at::Tensor>& max, const std::optional<at::Tensor>& sum) {
    if (!softmax && !max) torch_aclnn::host::refuse_null("logitsMax", "where there is no softmax");
    if (!softmax && !sum) torch_aclnn::host::refuse_null("sumExpLogits", "where there is no softmax");
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
struct NoSmoothing : Double {
    static double read(const char* name, double number) {
        require_number_between(name, number, 0.0, 0.0);
        return number;
    }
};
}  // namespace torch_aclnn::host::aten::kind

#define OF_ROW shape({input.size(0)})
ATEN_CHECKED_ENTRY(aclnnFusedLinearOnlineMaxSum, FLOAT16 | BF16,
                   (require_factors(input, weight), require_classes(weight, vocabStartIndex, vocabEndIndex)), (In, input), (In, weight),
                   (Indices, target, OF_ROW), (NotNegative, vocabStartIndex), (NotNegative, vocabEndIndex), (Out, logitsMaxLocal, OF_ROW),
                   (Out, sumExpLogitsLocal, OF_ROW), (Out, predictedLogitsLocal, OF_ROW),
                   (Out, targetMask, shape({(input.size(0) + 7) / 8})), (Out, maskedTarget, like(target)),
                   (OptOut, vocabParallelLogits, shape({input.size(0), weight.size(0)}))) {
    if (input.size(0) == 0) return;
    const at::Tensor logits = at::matmul(upcast(input), upcast(weight).t()), max = logits.amax(1), lower = logits - max.unsqueeze(1);
    const at::Tensor elsewhere = target.lt(vocabStartIndex).logical_or(target.gt(vocabEndIndex));
    const at::Tensor own = (target.to(at::kLong) - vocabStartIndex).masked_fill(elsewhere, 0);
    write(logitsMaxLocal, max);
    write(sumExpLogitsLocal, at::exp(lower).sum(1));
    write(predictedLogitsLocal, lower.gather(1, own.unsqueeze(1)).squeeze(1).masked_fill(elsewhere, 0));
    write(targetMask, packed_bits(elsewhere));
    write(maskedTarget, own);
    write(vocabParallelLogits, logits);
}
ATEN_CHECKED_ENTRY(aclnnFusedCrossEntropyLossWithMaxSum, FLOAT, (require_not_given("input", input), require_not_given("weight", weight)),
                   (In, logitsMax, rank(1)), (In, sumExpLogits, shaped_like(logitsMax)), (In, predictedLogits, shaped_like(logitsMax)),
                   (NoSmoothing, labelSmoothing), (OptIn, input), (OptIn, weight),
                   (OptIn, vocabParallelLogits, shape({logitsMax.size(0), vocabParallelLogits ? size_of(*vocabParallelLogits, -1) : 0})),
                   (Out, loss, like(logitsMax)),
                   (OptOut, softmax, shape({logitsMax.size(0), vocabParallelLogits ? size_of(*vocabParallelLogits, -1) : 0}))) {
    write(loss, at::log(sumExpLogits) - predictedLogits);
    if (vocabParallelLogits) write(softmax, at::exp(upcast(*vocabParallelLogits) - logitsMax.unsqueeze(1)) / sumExpLogits.unsqueeze(1));
}
ATEN_CHECKED_ENTRY(aclnnFusedLinearCrossEntropyLossGrad, FLOAT,
                   (require_factors(input, weight), require_softmax(softmax, logitsMax, sumExpLogits)), (In, grad, OF_ROW), (In, input),
                   (In, weight), (In, targetMask, shape({std::max<int64_t>(size_of(targetMask, 0), (input.size(0) + 7) / 8)})),
                   (Indices, maskedTarget, OF_ROW), (NoSmoothing, labelSmoothing), (OptIn, logitsMax, OF_ROW),
                   (OptIn, sumExpLogits, OF_ROW), (OptIn, softmax, shape({input.size(0), weight.size(0)})), (Out, inputGrad, like(input)),
                   (Out, weightGrad, like(weight))) {
    at::Tensor of_logits =
        softmax ? softmax->clone()
                : at::exp(at::matmul(upcast(input), upcast(weight).t()) - logitsMax->unsqueeze(1)) / sumExpLogits->unsqueeze(1);
    require_indices("maskedTarget", maskedTarget, weight.size(0));
    const at::Tensor own = (unpacked_bits(targetMask, input.size(0)) - 1).to(at::kFloat);
    of_logits.scatter_add_(1, maskedTarget.to(at::kLong).unsqueeze(1), own.unsqueeze(1));
    of_logits *= upcast(grad).unsqueeze(1);
    write(inputGrad, at::matmul(of_logits, upcast(weight)));
    write(weightGrad, at::matmul(of_logits.t(), upcast(input)));
}
