// The pieces of synchronised batch norm. ATen has no CPU kernels for them; channels are dimension 1. Sums are taken in float64.
// The backward's last piece, aclnnBatchNormElemtBackward, is an operator of its own, in libopapi.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

ATEN_FAMILY("normalisation")

using namespace torch_aclnn::host::aten;

namespace {

std::vector<int64_t> all_but_channels(const at::Tensor& input) {
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < input.dim(); i++) {
        if (i != 1) dims.push_back(i);
    }
    return dims;
}

// One value for each channel, such that it broadcasts to the input.
at::Tensor along_channels(const at::Tensor& values, const at::Tensor& input) {
    std::vector<int64_t> sizes(input.dim(), 1);
    sizes.at(1) = input.size(1);
    return upcast(values).reshape(sizes);
}

at::Tensor sum_per_channel(const at::Tensor& values) {
    return at::sum(values, all_but_channels(values), false, at::kDouble);
}

void follow(const at::Tensor& running, const at::Tensor& batch, double momentum) {
    running.copy_(running.to(at::kDouble) * (1 - momentum) + batch * momentum);
}

}  // namespace

ATEN_ENTRY(aclnnBatchNormStats, ANY, (In, input), (Double, eps), (Out, mean), (Out, invstd)) {
    const auto [variance, average] = at::var_mean(input.to(at::kDouble), all_but_channels(input), /*unbiased=*/false);
    write(mean, average);
    write(invstd, at::rsqrt(variance + eps));
}

ATEN_ENTRY(aclnnBatchNormElemt, FLOATING, (In, input), (OptIn, weight), (OptIn, bias), (In, mean), (In, invstd), (Double, eps),
           (Out, output)) {
    at::Tensor normal = (upcast(input) - along_channels(mean, input)) * along_channels(invstd, input);
    if (weight) normal = normal * along_channels(*weight, input);
    if (bias) normal = normal + along_channels(*bias, input);
    write(output, normal);
}

// sumDyXmu is the sum of gradOut * (input - mean).
ATEN_ENTRY(aclnnBatchNormReduceBackward, ANY, (In, gradOut), (In, input), (In, mean), (In, invstd), (OptIn, weight), (Bool, inputG),
           (Bool, weightG), (Bool, biasG), (OptOut, sumDy), (OptOut, sumDyXmu), (OptOut, gradWeight), (OptOut, gradBias)) {
    const at::Tensor dy = upcast(gradOut);
    const at::Tensor sum_dy = sum_per_channel(dy), sum_dy_xmu = sum_per_channel(dy * (upcast(input) - along_channels(mean, input)));
    if (inputG) write(sumDy, sum_dy);
    if (inputG) write(sumDyXmu, sum_dy_xmu);
    if (weightG) write(gradWeight, sum_dy_xmu * invstd.reshape({-1}));
    if (biasG) write(gradBias, sum_dy);
}

// mean and invstd have a row for each rank, which saw counts elements of each channel.
ATEN_ENTRY(aclnnBatchNormGatherStatsWithCounts, ANY, (In, input), (In, mean), (In, invstd), (OptIn, runningMean), (OptIn, runningVar),
           (Double, momentum), (Double, eps), (In, counts), (Out, meanAll), (Out, invstdAll)) {
    const at::Tensor count = counts.to(at::kDouble).reshape({-1, 1}), n = count.sum();
    const at::Tensor means = mean.to(at::kDouble).reshape({count.size(0), -1});
    const at::Tensor variances = (at::pow(invstd.to(at::kDouble).reshape_as(means), -2) - eps).clamp_min(0);
    const at::Tensor average = (count * means).sum(0) / n;
    const at::Tensor squares = (count * (variances + at::square(means - average))).sum(0);
    write(meanAll, average);
    write(invstdAll, at::rsqrt(squares / n + eps));
    if (runningMean) follow(*runningMean, average, momentum);
    if (runningVar) follow(*runningVar, squares / (n - 1), momentum);
}

// torch_npu's own way to the same: sums and sums of squares instead of means and deviations.
ATEN_ENTRY(aclnnBatchNormReduce, ANY, (In, x), (Out, sum), (Out, squareSum)) {
    write(sum, sum_per_channel(x));
    write(squareSum, sum_per_channel(at::square(x.to(at::kDouble))));
}
ATEN_ENTRY(aclnnSyncBatchNormGatherStats, ANY, (In, totalSum), (In, totalSquareSum), (In, sampleCount), (In, mean), (In, variance),
           (Float, momentum), (Float, eps), (Out, batchMean), (Out, batchInvstd)) {
    const int64_t channels = mean.numel();
    const at::Tensor n = sampleCount.to(at::kDouble).sum();
    const at::Tensor average = totalSum.to(at::kDouble).reshape({-1, channels}).sum(0) / n;
    const at::Tensor squares = (totalSquareSum.to(at::kDouble).reshape({-1, channels}).sum(0) - n * at::square(average)).clamp_min(0);
    write(batchMean, average);
    write(batchInvstd, at::rsqrt(squares / n + eps));
    follow(mean, average, momentum);
    follow(variance, squares / (n - 1), momentum);
}
