// Batch, layer and group normalisation. The pieces of synchronised batch norm are in batch_statistics.cpp.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/undocumented.h"

#define ATEN_FAMILY "normalisation"
using namespace torch_aclnn::host::aten;

namespace {

// Running statistics are inputs by their type, and all the same the call updates them.
void keep(const std::optional<at::Tensor>& statistics, const std::optional<at::Tensor>& updated) {
    if (statistics && !updated->is_same(*statistics)) statistics->copy_(*updated);
}

// One of each for what is normalised together.
void require_statistics(const at::Tensor& input, at::IntArrayRef normalised, const at::Tensor& mean, const at::Tensor& rstd) {
    const int64_t groups = c10::multiply_integers(input.sizes().slice(0, input.dim() - normalised.size()));
    require_as_many({{"mean", mean.numel()}, {"rstd", rstd.numel()}}, {"input, without normalizedShape,", groups});
}

// The sizes say again what the shape says, and each group has as many channels.
void require_groups(const NamedShape& input, int64_t batch, int64_t channels, int64_t positions, int64_t groups) {
    int64_t count = 0;
    const bool fits = !__builtin_mul_overflow(batch, channels, &count) && !__builtin_mul_overflow(count, positions, &count);
    if (!fits || count != c10::multiply_integers(input.sizes))
        torch_aclnn::host::refuse(input.name, c10::str("N, C and HxW elements, ", batch, " * ", channels, " * ", positions),
                                  c10::str("shape ", input.sizes));
    if (channels % groups != 0) torch_aclnn::host::refuse("group", c10::str("a divisor of C, ", channels), c10::str(groups));
}

}  // namespace

// saveMean and saveInvstd have no elements unless training. Despite its name the second is the batch's variance, as the formulas of
// aclnnBatchNormBackward have it (saveVar), and as an NPU writes it.
ATEN_ENTRY(aclnnBatchNorm, FLOATING, (In, input), (OptIn, weight), (OptIn, bias), (OptIn, runningMean), (OptIn, runningVar),
           (Bool, training), (Double, momentum), (Double, eps), (Out, output), (OptOut, saveMean), (OptOut, saveInvstd)) {
    const at::Tensor x = upcast(input);
    std::optional<at::Tensor> mean = upcast(runningMean), variance = upcast(runningVar);
    if (training) {
        const auto [batch_mean, batch_variance] = at::batch_norm_update_stats(x, mean, variance, momentum);
        keep(runningMean, mean);
        keep(runningVar, variance);
        const SavedStatistics saved = hidden_if_unspecified(batch_mean, batch_variance);
        write(saveMean, *saved.mean);
        write(saveInvstd, *saved.variance);
        mean = batch_mean;
        variance = batch_variance;
    }
    write(output, std::get<0>(at::native_batch_norm(x, upcast(weight), upcast(bias), mean, variance, /*training=*/false, momentum, eps)));
}

ATEN_ENTRY(aclnnBatchNormBackward, FLOATING, (In, gradOut), (In, input), (OptIn, weight), (OptIn, runningMean), (OptIn, runningVar),
           (OptIn, saveMean), (OptIn, saveInvstd), (Bool, training), (Double, eps), (MaskOf<3>, outputMask), (OptOut, gradInput),
           (OptOut, gradWeight), (OptOut, gradBias)) {
    if (input.numel() == 0) {  // ATen would divide by the number of elements
        const at::Tensor nothing = at::zeros({input.size(1)});
        write(gradWeight, nothing);
        write(gradBias, nothing);
        return;
    }
    const auto [mean, variance] = shown_if_unspecified(upcast(saveMean), upcast(saveInvstd));
    const std::optional<at::Tensor> invstd = training && variance ? std::optional(at::rsqrt(*variance + eps)) : std::nullopt;
    const auto [of_input, of_weight, of_bias] =
        at::native_batch_norm_backward(upcast(gradOut), upcast(input), upcast(weight), upcast(runningMean), upcast(runningVar), mean,
                                       invstd, training, eps, wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

#define LAYER_NORM(entry_point, dtypes)                                                                                             \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_last_dims("normalizedShape", normalizedShape, {"input", input}), (In, input),   \
                       (Ints, normalizedShape), (OptIn, weight), (OptIn, bias), (Double, eps), (Out, out), (OptOut, meanOut),       \
                       (OptOut, rstdOut)) {                                                                                         \
        const auto [normal, mean, rstd] = at::native_layer_norm(upcast(input), normalizedShape, upcast(weight), upcast(bias), eps); \
        write(out, normal);                                                                                                         \
        write(meanOut, mean);                                                                                                       \
        write(rstdOut, rstd);                                                                                                       \
    }

LAYER_NORM(aclnnLayerNorm, FLOATING)
LAYER_NORM(aclnnFastLayerNorm, FLOATING)

ATEN_CHECKED_ENTRY(aclnnLayerNormBackward, FLOATING,
                   (require_last_dims("normalizedShape", normalizedShape, {"input", input}),
                    require_same_shape({"gradOut", gradOut}, {"input", input}), require_statistics(input, normalizedShape, mean, rstd)),
                   (In, gradOut), (In, input), (Ints, normalizedShape), (In, mean), (In, rstd), (OptIn, weight), (OptIn, bias),
                   (MaskOf<3>, outputMask), (OptOut, gradInput), (OptOut, gradWeight), (OptOut, gradBias)) {
    // mean and rstd are float32 whatever the input is.
    const at::Tensor x = upcast(input);
    const auto [of_input, of_weight, of_bias] =
        at::native_layer_norm_backward(upcast(gradOut), x, normalizedShape, mean.to(x.scalar_type()), rstd.to(x.scalar_type()),
                                       upcast(weight), upcast(bias), wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

ATEN_CHECKED_ENTRY(aclnnGroupNorm, FLOATING, require_groups({"self", self}, N, C, HxW, group), (In, self), (OptIn, gamma), (OptIn, beta),
                   (NotNegative, N), (NotNegative, C), (NotNegative, HxW), (Positive, group), (Double, eps), (Out, out), (OptOut, meanOut),
                   (OptOut, rstdOut)) {
    const auto [normal, mean, rstd] = at::native_group_norm(upcast(self).contiguous(), upcast(gamma), upcast(beta), N, C, HxW, group, eps);
    write(out, normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
}
ATEN_CHECKED_ENTRY(aclnnGroupNormBackward, FLOATING, require_groups({"input", input}, N, C, HxW, group), (In, gradOut), (In, input),
                   (In, mean), (In, rstd), (OptIn, gamma), (NotNegative, N), (NotNegative, C), (NotNegative, HxW), (Positive, group),
                   (MaskOf<3>, outputMask), (OptOut, gradInput), (OptOut, gradGamma), (OptOut, gradBeta)) {
    const auto [of_input, of_gamma, of_beta] = at::native_group_norm_backward(
        upcast(gradOut).contiguous(), upcast(input).contiguous(), upcast(mean).contiguous(), upcast(rstd).contiguous(), upcast(gamma), N, C,
        HxW, group, wanted(outputMask, gradInput, gradGamma, gradBeta));
    write(gradInput, of_input);
    write(gradGamma, of_gamma);
    write(gradBeta, of_beta);
}

// The sum of an input and a parallel branch, normalised over gamma's dimensions: x * alpha + gx.
ATEN_CHECKED_ENTRY(aclnnDeepNorm, FLOATING,
                   (require_same_shape({"gx", gx}, {"x", x}), require_last_dims("gamma", gamma.sizes(), {"x", x}),
                    require_same_shape({"beta", beta}, {"gamma", gamma})),
                   (In, x), (In, gx), (In, beta), (In, gamma), (Double, alpha), (Double, epsilon), (Out, mean), (Out, rstd), (Out, y)) {
    const at::Tensor sum = at::add(upcast(gx), upcast(x), alpha);
    const auto [normal, sum_mean, sum_rstd] = at::native_layer_norm(sum, gamma.sizes(), upcast(gamma), upcast(beta), epsilon);
    write(mean, sum_mean);
    write(rstd, sum_rstd);
    write(y, normal);
}
ATEN_CHECKED_ENTRY(aclnnDeepNormGrad, FLOATING,
                   (require_same_shape({"x", x}, {"dy", dy}), require_same_shape({"gx", gx}, {"dy", dy}),
                    require_last_dims("gamma", gamma.sizes(), {"dy", dy}), require_statistics(dy, gamma.sizes(), mean, rstd)),
                   (In, dy), (In, x), (In, gx), (In, gamma), (In, mean), (In, rstd), (Double, alpha), (Out, dx), (Out, dgx), (Out, dbeta),
                   (Out, dgamma)) {
    const at::Tensor sum = at::add(upcast(gx), upcast(x), alpha), weight = upcast(gamma);
    const auto [of_sum, of_gamma, of_beta] =
        at::native_layer_norm_backward(upcast(dy), sum, gamma.sizes(), mean, rstd, weight, weight, {true, true, true});
    write(dx, of_sum * alpha);
    write(dgx, of_sum);
    write(dbeta, of_beta);
    write(dgamma, of_gamma);
}

// x1 + x2 + bias, normalised over gamma's dimensions; xOut takes the sum if additionalOutput asks for it.
ATEN_CHECKED_ENTRY(aclnnAddLayerNorm, FLOATING,
                   (require_same_shape({"x2", x2}, {"x1", x1}), require_last_dims("gamma", gamma.sizes(), {"x1", x1}),
                    require_same_shape({"beta", beta}, {"gamma", gamma})),
                   (In, x1), (In, x2), (In, gamma), (In, beta), (OptIn, bias), (Double, epsilon), (Bool, additionalOutput), (Out, yOut),
                   (Out, meanOut), (Out, rstdOut), (OptOut, xOut)) {
    at::Tensor sum = at::add(upcast(x1), upcast(x2));
    if (bias) sum = at::add(sum, upcast(*bias));
    const auto [normal, mean, rstd] = at::native_layer_norm(sum, gamma.sizes(), upcast(gamma), upcast(beta), epsilon);
    write(yOut, normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
    if (additionalOutput) write(xOut, sum);
}
