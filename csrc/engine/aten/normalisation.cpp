// Batch, layer and group normalisation. The pieces of synchronised batch norm are in batch_statistics.cpp.
#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/adapter/undocumented.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "normalisation"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;

// Running statistics are inputs by their type, and all the same the call updates them.
void keep(const std::optional<at::Tensor>& statistics, const std::optional<at::Tensor>& updated) {
    if (statistics && !updated->is_same(*statistics)) statistics->copy_(*updated);
}

// One for each channel.
Expected of_channels(const at::Tensor& input) {
    if (input.dim() < 2) refuse("input", "at least 2 dimensions", shape_text(input.sizes()));
    return shape({input.size(1)});
}

void require_given(const char* name, const std::optional<at::Tensor>& mean, const char* other, const std::optional<at::Tensor>& variance,
                   const char* why) {
    if (!mean) refuse_null(name, why);
    if (!variance) refuse_null(other, why);
}
// Both or neither in training, and both for what is normalised with them.
void require_running(const std::optional<at::Tensor>& mean, const std::optional<at::Tensor>& variance, bool training) {
    if (!training || mean || variance)
        require_given("runningMean", mean, "runningVar", variance,
                      training ? "a tensor, as the other one is given" : "a tensor, as training is not set");
}
// Only a call of training writes them; otherwise their kind would say so.
void require_elements_apart(const char* name, const std::optional<at::Tensor>& tensor) {
    if (tensor && at::has_internal_overlap(*tensor) == at::MemOverlap::Yes)
        refuse(name, "elements that do not share memory", c10::str(shape_text(tensor->sizes()), " with strides ", tensor->strides()));
}
void require_updatable(const std::optional<at::Tensor>& mean, const std::optional<at::Tensor>& variance, bool training) {
    require_running(mean, variance, training);
    if (!training) return;
    require_elements_apart("runningMean", mean);
    require_elements_apart("runningVar", variance);
}

// One for what is normalised together, whose dimensions some callers keep with one element.
Elements of_groups(const at::Tensor& input, at::IntArrayRef normalised) {
    int64_t groups = 1;
    for (const int64_t size : input.sizes().slice(0, input.dim() - normalised.size()))
        if (__builtin_mul_overflow(groups, size, &groups))
            refuse("input", "dimensions whose product can be counted", shape_text(input.sizes()));
    return elements(groups);
}

// The sizes say again what the shape says, and each group has as many channels.
void require_groups(const NamedShape& input, int64_t batch, int64_t channels, int64_t positions, int64_t groups) {
    int64_t count = 0;
    const bool fits = !__builtin_mul_overflow(batch, channels, &count) && !__builtin_mul_overflow(count, positions, &count);
    if (!fits || count != c10::multiply_integers(input.sizes))
        refuse(input.name, c10::str("N, C and HxW elements, ", batch, " * ", channels, " * ", positions), shape_text(input.sizes));
    if (channels % groups != 0) refuse("group", c10::str("a divisor of C, ", channels), c10::str(groups));
}

// One row for each sequence of x, with its dimension or without.
Either of_sequences(const at::Tensor& x) {
    if (x.dim() < 2) refuse("x", "at least 2 dimensions", shape_text(x.sizes()));
    return either(without_dim(x.sizes(), -2), with_size(x.sizes(), -2, 1));
}

std::string_view read_dynamic(const char* name, const char* text) {
    return read_choice(name, text, {"dynamic"});
}
std::string_view read_image_format(const char* name, const char* text) {
    return read_choice(name, text, {"NCHW", "NHWC"});
}
// With one element in each dimension but those of the batch and the channels, or the channels alone.
Expected of_instances(const at::Tensor& x, std::string_view format) {
    if (x.dim() != 4) refuse("x", "4 dimensions", shape_text(x.sizes()));
    return format == "NCHW" ? shape({x.size(0), x.size(1), 1, 1}) : shape({x.size(0), 1, 1, x.size(3)});
}
Expected of_instance_channels(const at::Tensor& x, std::string_view format) {
    const Expected instances = of_instances(x, format);
    return shape({instances.sizes[1] * instances.sizes[3]});
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using ImplMode = Between<int32_t, 0, 2>;  // precise, fast, or in half types: the engine is precise in each case
using DynamicMode = Kind<const char*, std::string_view, std::string_view, read_dynamic>;
using ImageFormat = Kind<const char*, std::string_view, std::string_view, read_image_format>;
}  // namespace torch_aclnn::host::aten::kind

// saveMean and saveInvstd have no elements unless training. Despite its name the second is the batch's variance, as the formulas of
// aclnnBatchNormBackward have it (saveVar), and as an NPU writes it.
ATEN_CHECKED_ENTRY(aclnnBatchNorm, FLOATING, require_updatable(runningMean, runningVar, training), (In, input),
                   (OptIn, weight, of_channels(input)), (OptIn, bias, of_channels(input)), (OptIn, runningMean, of_channels(input)),
                   (OptIn, runningVar, of_channels(input)), (Bool, training), (Double, momentum), (Double, eps), (Out, output, like(input)),
                   (OptOut, saveMean, if_wanted(training, of_channels(input))),
                   (OptOut, saveInvstd, if_wanted(training, of_channels(input)))) {
    const at::Tensor x = upcast(input);
    std::optional<at::Tensor> mean = dense(runningMean), variance = dense(runningVar);
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
    write(output, std::get<0>(at::native_batch_norm(x, dense(weight), dense(bias), mean, variance, /*training=*/false, momentum, eps)));
}

static void require_statistics(const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
                               const std::optional<at::Tensor>& mean, const std::optional<at::Tensor>& variance, bool training) {
    if (training)
        require_given("saveMean", mean, "saveInvstd", variance, "a tensor, as training is set");
    else
        require_running(running_mean, running_var, training);
}
ATEN_CHECKED_ENTRY(aclnnBatchNormBackward, FLOATING, require_statistics(runningMean, runningVar, saveMean, saveInvstd, training),
                   (In, gradOut, shaped_like(input)), (In, input), (OptIn, weight, of_channels(input)),
                   (OptIn, runningMean, of_channels(input)), (OptIn, runningVar, of_channels(input)),
                   (OptIn, saveMean, if_wanted(training, of_channels(input))), (OptIn, saveInvstd, if_wanted(training, of_channels(input))),
                   (Bool, training), (Double, eps), (MaskOf<3>, outputMask), (OptOut, gradInput, if_wanted(outputMask[0], like(input))),
                   (OptOut, gradWeight, if_wanted(outputMask[1], of_channels(input))),
                   (OptOut, gradBias, if_wanted(outputMask[2], of_channels(input)))) {
    if (input.numel() == 0) {  // ATen would divide by the number of elements
        const at::Tensor nothing = at::zeros({input.size(1)});
        if (outputMask[1]) write(gradWeight, nothing);
        if (outputMask[2]) write(gradBias, nothing);
        return;
    }
    // Those of the batch count in training alone.
    const auto [mean, variance] =
        training ? shown_if_unspecified(dense(saveMean), dense(saveInvstd)) : SavedStatistics{std::nullopt, std::nullopt};
    const std::optional<at::Tensor> invstd = training && variance ? std::optional(at::rsqrt(*variance + eps)) : std::nullopt;
    const auto [of_input, of_weight, of_bias] =
        at::native_batch_norm_backward(upcast(gradOut), upcast(input), dense(weight), dense(runningMean), dense(runningVar), mean, invstd,
                                       training, eps, wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

#define LAYER_NORM(entry_point, dtypes, ...)                                                                                          \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_last_dims("normalizedShape", normalizedShape, {"input", input}), (In, input),     \
                       (Ints, normalizedShape), (OptIn, weight, Expected(normalizedShape)), (OptIn, bias, Expected(normalizedShape)), \
                       (Double, eps), (Out, out, like(input)), (OptOut, meanOut, of_groups(input, normalizedShape)),                  \
                       (OptOut, rstdOut, of_groups(input, normalizedShape))__VA_OPT__(, ) __VA_ARGS__) {                              \
        const auto [normal, mean, rstd] = at::native_layer_norm(upcast(input), normalizedShape, dense(weight), dense(bias), eps);     \
        write(out, normal);                                                                                                           \
        write(meanOut, mean);                                                                                                         \
        write(rstdOut, rstd);                                                                                                         \
    }

LAYER_NORM(aclnnLayerNorm, FLOATING)
LAYER_NORM(aclnnFastLayerNorm, FLOATING)
LAYER_NORM(aclnnLayerNormWithImplMode, FLOATING, (ImplMode, implMode))

ATEN_CHECKED_ENTRY(aclnnLayerNormBackward, FLOATING, require_last_dims("normalizedShape", normalizedShape, {"input", input}),
                   (In, gradOut, shaped_like(input)), (In, input), (Ints, normalizedShape), (In, mean, of_groups(input, normalizedShape)),
                   (In, rstd, of_groups(input, normalizedShape)), (OptIn, weight, Expected(normalizedShape)),
                   (OptIn, bias, Expected(normalizedShape)), (MaskOf<3>, outputMask),
                   (OptOut, gradInput, if_wanted(outputMask[0], like(input))),
                   (OptOut, gradWeight, if_wanted(outputMask[1], Expected(normalizedShape))),
                   (OptOut, gradBias, if_wanted(outputMask[2], Expected(normalizedShape)))) {
    // mean and rstd are float32 whatever the input is.
    const at::Tensor x = upcast(input);
    const auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward(
        upcast(gradOut), x, normalizedShape, dense(mean.to(x.scalar_type())), dense(rstd.to(x.scalar_type())),
        weight || !outputMask[1] ? dense(weight) : std::optional(at::ones(normalizedShape, x.options())),
        bias || !outputMask[2] ? dense(bias) : std::optional(at::zeros(normalizedShape, x.options())),
        wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

ATEN_ENTRY(aclnnInstanceNorm, FLOAT | FLOAT16, (In, x), (In, gamma, of_instance_channels(x, dataFormat)),
           (In, beta, of_instance_channels(x, dataFormat)), (ImageFormat, dataFormat), (Double, eps), (Out, y, like(x)),
           (Out, mean, of_instances(x, dataFormat)), (Out, variance, of_instances(x, dataFormat))) {
    const bool last = dataFormat == "NHWC";
    const auto of_channels = [&](const at::Tensor& one) {
        return one.to(at::kDouble).reshape(last ? at::IntArrayRef{-1} : at::IntArrayRef{-1, 1, 1});
    };
    const auto [spread, middle] = at::var_mean(x.to(at::kDouble), at::IntArrayRef{last ? 1 : 2, last ? 2 : 3}, at::Scalar(0), true);
    write(y, (x.to(at::kDouble) - middle) * at::rsqrt(spread + eps) * of_channels(gamma) + of_channels(beta));
    write(mean, middle);
    write(variance, spread);
}
ATEN_CHECKED_ENTRY(aclnnGroupNorm, FLOATING, require_groups({"self", self}, N, C, HxW, group), (In, self), (OptIn, gamma, shape({C})),
                   (OptIn, beta, shape({C})), (NotNegative, N), (NotNegative, C), (NotNegative, HxW), (Positive, group), (Double, eps),
                   (Out, out, like(self)), (OptOut, meanOut, shape({N, group})), (OptOut, rstdOut, shape({N, group}))) {
    const auto [normal, mean, rstd] = at::native_group_norm(dense(self), dense(gamma), dense(beta), N, C, HxW, group, eps);
    write(out, normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
}
ATEN_CHECKED_ENTRY(aclnnGroupNormBackward, FLOATING, require_groups({"input", input}, N, C, HxW, group), (In, gradOut, shaped_like(input)),
                   (In, input), (In, mean, shape({N, group})), (In, rstd, shape({N, group})), (OptIn, gamma, shape({C})), (NotNegative, N),
                   (NotNegative, C), (NotNegative, HxW), (Positive, group), (MaskOf<3>, outputMask),
                   (OptOut, gradInput, if_wanted(outputMask[0], like(input))), (OptOut, gradGamma, if_wanted(outputMask[1], shape({C}))),
                   (OptOut, gradBeta, if_wanted(outputMask[2], shape({C})))) {
    const auto [of_input, of_gamma, of_beta] =
        at::native_group_norm_backward(dense(gradOut), dense(input), dense(mean), dense(rstd),
                                       gamma || !outputMask[1] ? dense(gamma) : std::optional(at::ones({C}, dense(input).options())), N, C,
                                       HxW, group, wanted(outputMask, gradInput, gradGamma, gradBeta));
    write(gradInput, of_input);
    write(gradGamma, of_gamma);
    write(gradBeta, of_beta);
}

// The sum of an input and a parallel branch, normalised over gamma's dimensions: x * alpha + gx.
ATEN_CHECKED_ENTRY(aclnnDeepNorm, FLOATING, require_last_dims("gamma", gamma.sizes(), {"x", x}), (In, x), (In, gx, shaped_like(x)),
                   (In, beta, shaped_like(gamma)), (In, gamma), (Double, alpha), (Double, epsilon),
                   (Out, mean, of_groups(x, gamma.sizes())), (Out, rstd, of_groups(x, gamma.sizes())), (Out, y, like(x))) {
    const at::Tensor sum = at::add(upcast(gx), upcast(x), alpha);
    const auto [normal, sum_mean, sum_rstd] = at::native_layer_norm(sum, gamma.sizes(), dense(gamma), dense(beta), epsilon);
    write(mean, sum_mean);
    write(rstd, sum_rstd);
    write(y, normal);
}
ATEN_CHECKED_ENTRY(aclnnDeepNormGrad, FLOATING, require_last_dims("gamma", gamma.sizes(), {"dy", dy}), (In, dy), (In, x, shaped_like(dy)),
                   (In, gx, shaped_like(dy)), (In, gamma), (In, mean, of_groups(dy, gamma.sizes())),
                   (In, rstd, of_groups(dy, gamma.sizes())), (Double, alpha), (Out, dx, like(x)), (Out, dgx, like(gx)),
                   (Out, dbeta, like(gamma)), (Out, dgamma, like(gamma))) {
    const at::Tensor sum = at::add(upcast(gx), upcast(x), alpha), weight = dense(gamma);
    const auto [of_sum, of_gamma, of_beta] =
        at::native_layer_norm_backward(upcast(dy), sum, gamma.sizes(), dense(mean), dense(rstd), weight, weight, {true, true, true});
    write(dx, of_sum * alpha);
    write(dgx, of_sum);
    write(dbeta, of_beta);
    write(dgamma, of_gamma);
}

// x1 + x2 + bias, normalised over gamma's dimensions; xOut takes the sum if additionalOutput asks for it.
ATEN_CHECKED_ENTRY(aclnnAddLayerNorm, FLOATING, require_last_dims("gamma", gamma.sizes(), {"x1", x1}), (In, x1), (In, x2, shaped_like(x1)),
                   (In, gamma), (In, beta, shaped_like(gamma)), (OptIn, bias, either(shaped_like(gamma), shaped_like(x1))),
                   (Double, epsilon), (Bool, additionalOutput), (Out, yOut, like(x1)), (Out, meanOut, of_groups(x1, gamma.sizes())),
                   (Out, rstdOut, of_groups(x1, gamma.sizes())), (OptOut, xOut, if_wanted(additionalOutput, like(x1)))) {
    at::Tensor sum = at::add(upcast(x1), upcast(x2));
    if (bias) sum = at::add(sum, upcast(*bias));
    const auto [normal, mean, rstd] = at::native_layer_norm(sum, gamma.sizes(), dense(gamma), dense(beta), epsilon);
    write(yOut, normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
    if (additionalOutput) write(xOut, sum);
}
// dsum is the gradient of the sum where the forward gave it.
ATEN_CHECKED_ENTRY(aclnnAddLayerNormGrad, FLOATING, require_last_dims("gamma", gamma.sizes(), {"x1", x1}), (In, dy, shaped_like(x1)),
                   (In, x1), (In, x2, shaped_like(x1)), (In, rstd, of_groups(x1, gamma.sizes())), (In, mean, of_groups(x1, gamma.sizes())),
                   (In, gamma), (OptIn, dsumOptional, shaped_like(x1)), (Out, dxOut, like(x1)), (Out, dgammaOut, shaped_like(gamma)),
                   (Out, dbetaOut, shaped_like(gamma))) {
    const at::Tensor sum = upcast(x1) + upcast(x2), weight = dense(gamma);
    const auto [of_sum, of_gamma, of_beta] =
        at::native_layer_norm_backward(upcast(dy), sum, gamma.sizes(), dense(mean), dense(rstd), weight, weight, {true, true, true});
    write(dxOut, dsumOptional ? of_sum + upcast(*dsumOptional) : of_sum);
    write(dgammaOut, of_gamma);
    write(dbetaOut, of_beta);
}

// Each sequence has a scale and a shift of its own.
#define ADAPTIVE                                                                                                           \
    (In, x), (In, scale, of_sequences(x)), (In, shift, of_sequences(x)), (OptIn, weightOptional, shape({size_of(x, -1)})), \
        (OptIn, biasOptional, shape({size_of(x, -1)}))
static at::Tensor adaptive_normal(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                                  const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias, double epsilon) {
    const auto each = [&](const at::Tensor& row) { return upcast(row).reshape(with_size(x.sizes(), -2, 1).sizes); };
    return at::layer_norm(upcast(x), {x.size(-1)}, dense(weight), dense(bias), epsilon) * (1 + each(scale)) + each(shift);
}
ATEN_ENTRY(aclnnAdaLayerNorm, FLOATING, ADAPTIVE, (Double, epsilon), (Out, out, like(x))) {
    write(out, adaptive_normal(x, scale, shift, weightOptional, biasOptional, epsilon));
}
// Quantised with a scale for each row, of its largest number.
ATEN_ENTRY(aclnnAdaLayerNormQuant, FLOAT16 | BF16, ADAPTIVE, (OptIn, smoothScalesOptional, shape({size_of(x, -1)})), (Double, epsilon),
           (DynamicMode, quantMode), (Out, out, shaped_like(x)), (Out, quantScale, without_dim(x.sizes(), -1))) {
    at::Tensor normal = adaptive_normal(x, scale, shift, weightOptional, biasOptional, epsilon);
    if (smoothScalesOptional) normal = normal * upcast(*smoothScalesOptional);
    const DynamicallyQuantised rows = quantise_rows(normal.to(at::kDouble), 127);
    write_rounded(out, rows.numbers);
    write(quantScale, rows.scale.reshape(quantScale.sizes()));
}
