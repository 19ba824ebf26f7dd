// Batch, layer and group normalisation. The pieces of synchronised batch norm are in batch_statistics.cpp.
#include <ATen/MemoryOverlap.h>
#include <torch/csrc/autograd/function.h>

#include <cstdio>

#include "engine/aten/numerics/undocumented.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/normalization/normalization_calls.h"

// Running statistics are inputs by their type, but the call updates them.
static void keep(const OptTensor& statistics, const OptTensor& updated) {
    if (statistics && !updated->is_same(*statistics)) statistics->copy_(*updated);
}

// Both running statistics must be given in evaluation, and both or neither in training.
static void require_running(const OptTensor& mean, const OptTensor& variance, bool training) {
    const char* const expected = training ? "a tensor, as the other one is given" : "a tensor, as training is not set";
    require_given("runningMean", mean, expected, !training || variance);
    require_given("runningVar", variance, expected, !training || mean);
}

// The shape of a statistic for each set of elements that is normalised together. Some callers keep the reduced dimensions with one element.
static Elements of_groups(const at::Tensor& input, at::IntArrayRef normalised) {
    int64_t groups = 1;
    for (const int64_t size : input.sizes().slice(0, input.dim() - normalised.size()))
        if (__builtin_mul_overflow(groups, size, &groups))
            refuse("input", "dimensions whose product can be counted", shape_text(input.sizes()));
    return elements(groups);
}

// The sizes must say what the shape says, and each group has as many channels.
static void require_groups(const NamedShape& input, int64_t batch, int64_t channels, int64_t positions, int64_t groups) {
    int64_t count = 0;
    const bool fits = !__builtin_mul_overflow(batch, channels, &count) && !__builtin_mul_overflow(count, positions, &count);
    if (!fits || count != c10::multiply_integers(input.sizes))
        refuse(input.name, c10::str("N, C and HxW elements, ", batch, " * ", channels, " * ", positions), shape_text(input.sizes));
    require_divisor("group", groups, channels);
}

// There is one row for each sequence of x; the dimension of rows may be omitted.
static Either of_sequences(const at::Tensor& x) {
    return either(without_dim(x.sizes(), -2), with_size(x.sizes(), -2, 1));
}

// The shapes of statistics: one element in each dimension but those of the batch and the channels, or the channels alone.
static Expected of_instances(const at::Tensor& x, std::string_view format) {
    return format == "NCHW" ? shape({x.size(0), x.size(1), 1, 1}) : shape({x.size(0), 1, 1, x.size(3)});
}
static Expected of_instance_channels(const at::Tensor& x, std::string_view format) {
    const Expected instances = of_instances(x, format);
    return shape({instances.sizes[1] * instances.sizes[3]});
}

// Only a call of training writes the running statistics; otherwise their kind would say that their elements share no memory.
static void check(const call::BatchNorm& a) {
    require_running(a.runningMean, a.runningVar, a.training);
    for (const auto& [name, tensor] : {NamedOptional{"runningMean", a.runningMean}, {"runningVar", a.runningVar}})
        if (a.training && tensor && at::has_internal_overlap(*tensor) == at::MemOverlap::Yes)
            refuse(name, "elements that do not share memory", c10::str(shape_text(tensor->sizes()), " with strides ", tensor->strides()));
}
// saveMean and saveInvstd have no elements unless training. Despite its name the second is the batch's variance, as the formulas of
// aclnnBatchNormBackward have it (saveVar), and as an NPU writes it.
static void compute(const call::BatchNorm& a) {
    const at::Tensor x = upcast(a.input);
    const OptTensor running_mean = dense(a.runningMean), running_variance = dense(a.runningVar);
    OptTensor mean = running_mean, variance = running_variance;
    if (a.training) std::tie(mean, variance) = at::batch_norm_update_stats(x, running_mean, running_variance, a.momentum);
    write(a.output,
          std::get<0>(at::native_batch_norm(x, dense(a.weight), dense(a.bias), mean, variance, /*training=*/false, a.momentum, a.eps)));
    if (!a.training) return;
    keep(a.runningMean, running_mean);
    keep(a.runningVar, running_variance);
    const SavedStatistics saved = hidden_if_unspecified(*mean, *variance);
    write_each(std::tie(*saved.mean, *saved.variance), a.saveMean, a.saveInvstd);
}

static void check(const call::BatchNormBackward& a) {
    require_given("saveMean", a.saveMean, "a tensor, as training is set", a.training);
    require_given("saveInvstd", a.saveInvstd, "a tensor, as training is set", a.training);
    if (!a.training) require_running(a.runningMean, a.runningVar, a.training);
}
// Warns of a backward with create_graph, because torch differentiates the gradient as if saveInvstd were what its name says.
static void warn_of_second_derivatives() {
    static std::atomic_flag warned = ATOMIC_FLAG_INIT;
    if (at::GradMode::is_enabled() && torch::autograd::get_current_node() != nullptr && !warned.test_and_set())
        std::fputs(
            "torch_aclnn: aclnnBatchNormBackward: torch_npu's gradient of batch norm has wrong derivatives, on an NPU too, and a graph "
            "of it is kept; torch_aclnn.convert(model, batch_norm=True) has right ones\n",
            stderr);
}
static void compute(const call::BatchNormBackward& a) {
    if (a.input.numel() == 0) {  // ATen would divide by the number of elements
        const at::Tensor nothing = at::zeros({a.input.size(1)});
        if (a.outputMask[1]) write(a.gradWeight, nothing);
        if (a.outputMask[2]) write(a.gradBias, nothing);
        return;
    }
    // The statistics of the batch are used in training only.
    const auto [mean, variance] =
        a.training ? shown_if_unspecified(dense(a.saveMean), dense(a.saveInvstd)) : SavedStatistics{std::nullopt, std::nullopt};
    const OptTensor invstd = a.training && variance ? std::optional(at::rsqrt(*variance + a.eps)) : std::nullopt;
    write_each(
        at::native_batch_norm_backward(upcast(a.gradOut), upcast(a.input), dense(a.weight), dense(a.runningMean), dense(a.runningVar), mean,
                                       invstd, a.training, a.eps, wanted(a.outputMask, a.gradInput, a.gradWeight, a.gradBias)),
        a.gradInput, a.gradWeight, a.gradBias);
}

static void compute(const call::LayerNormBackward& a) {
    // mean and rstd are float32 whatever the input is.
    const at::Tensor x = upcast(a.input);
    write_each(at::native_layer_norm_backward(
                   upcast(a.gradOut), x, a.normalizedShape, dense(a.mean.to(x.scalar_type())), dense(a.rstd.to(x.scalar_type())),
                   a.weight || !a.outputMask[1] ? dense(a.weight) : std::optional(at::ones(a.normalizedShape, x.options())),
                   a.bias || !a.outputMask[2] ? dense(a.bias) : std::optional(at::zeros(a.normalizedShape, x.options())),
                   wanted(a.outputMask, a.gradInput, a.gradWeight, a.gradBias)),
               a.gradInput, a.gradWeight, a.gradBias);
}

static void compute(const call::InstanceNorm& a) {
    const bool last = a.dataFormat == "NHWC";
    const auto of_channels = [&](const at::Tensor& one) {
        return one.to(at::kDouble).reshape(last ? at::IntArrayRef{-1} : at::IntArrayRef{-1, 1, 1});
    };
    const auto [spread, middle] = at::var_mean(a.x.to(at::kDouble), at::IntArrayRef{last ? 1 : 2, last ? 2 : 3}, at::Scalar(0), true);
    write(a.y, (a.x.to(at::kDouble) - middle) * at::rsqrt(spread + a.eps) * of_channels(a.gamma) + of_channels(a.beta));
    write(a.mean, middle);
    write(a.variance, spread);
}
static void compute(const call::GroupNormBackward& a) {
    write_each(at::native_group_norm_backward(
                   dense(a.gradOut), dense(a.input), dense(a.mean), dense(a.rstd),
                   a.gamma || !a.outputMask[1] ? dense(a.gamma) : std::optional(at::ones({a.C}, dense(a.input).options())), a.N, a.C, a.HxW,
                   a.group, wanted(a.outputMask, a.gradInput, a.gradGamma, a.gradBeta)),
               a.gradInput, a.gradGamma, a.gradBeta);
}

// The sum of an input and a parallel branch, normalised over gamma's dimensions: x * alpha + gx.
static void compute(const call::DeepNorm& a) {
    const at::Tensor sum = at::add(upcast(a.gx), upcast(a.x), a.alpha);
    const auto [normal, sum_mean, sum_rstd] = at::native_layer_norm(sum, a.gamma.sizes(), dense(a.gamma), dense(a.beta), a.epsilon);
    write(a.mean, sum_mean);
    write(a.rstd, sum_rstd);
    write(a.y, normal);
}
static void compute(const call::DeepNormGrad& a) {
    const at::Tensor sum = at::add(upcast(a.gx), upcast(a.x), a.alpha), weight = dense(a.gamma);
    const auto [of_sum, of_gamma, of_beta] = at::native_layer_norm_backward(upcast(a.dy), sum, a.gamma.sizes(), dense(a.mean),
                                                                            dense(a.rstd), weight, weight, {true, true, true});
    write(a.dx, of_sum * a.alpha);
    write(a.dgx, of_sum);
    write(a.dbeta, of_beta);
    write(a.dgamma, of_gamma);
}

// x1 + x2 + bias, normalised over gamma's dimensions; xOut takes the sum if additionalOutput asks for it.
static void compute(const call::AddLayerNorm& a) {
    at::Tensor sum = at::add(upcast(a.x1), upcast(a.x2));
    if (a.bias) sum = at::add(sum, upcast(*a.bias));
    write_each(at::native_layer_norm(sum, a.gamma.sizes(), dense(a.gamma), dense(a.beta), a.epsilon), a.yOut, a.meanOut, a.rstdOut);
    if (a.additionalOutput) write(a.xOut, sum);
}
// dsum is the gradient of xOut, where the forward returned it.
static void compute(const call::AddLayerNormGrad& a) {
    const at::Tensor sum = upcast(a.x1) + upcast(a.x2), weight = dense(a.gamma);
    const auto [of_sum, of_gamma, of_beta] = at::native_layer_norm_backward(upcast(a.dy), sum, a.gamma.sizes(), dense(a.mean),
                                                                            dense(a.rstd), weight, weight, {true, true, true});
    write(a.dxOut, a.dsumOptional ? of_sum + upcast(*a.dsumOptional) : of_sum);
    write(a.dgammaOut, of_gamma);
    write(a.dbetaOut, of_beta);
}

static at::Tensor adaptive_normal(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, const OptTensor& weight,
                                  const OptTensor& bias, double epsilon) {
    const auto each = [&](const at::Tensor& row) { return upcast(row).reshape(with_size(x.sizes(), -2, 1).sizes); };
    return at::layer_norm(upcast(x), {x.size(-1)}, dense(weight), dense(bias), epsilon) * (1 + each(scale)) + each(shift);
}
// The result is quantised with a scale for each row, which follows from its largest number.
static void compute(const call::AdaLayerNormQuant& a) {
    at::Tensor normal = adaptive_normal(a.x, a.scale, a.shift, a.weightOptional, a.biasOptional, a.epsilon);
    if (a.smoothScalesOptional) normal = normal * upcast(*a.smoothScalesOptional);
    const DynamicallyQuantised rows = quantise_rows(normal.to(at::kDouble), 127);
    write_rounded(a.out, rows.numbers);
    write(a.quantScale, rows.scale.reshape(a.quantScale.sizes()));
}
