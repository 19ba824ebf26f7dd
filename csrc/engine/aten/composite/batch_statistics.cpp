// The pieces of synchronised batch norm. ATen has no CPU kernels for them; channels are dimension 1. Sums are taken in float64.
// The backward's last piece, aclnnBatchNormElemtBackward, is an operator of its own, in libopapi.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "kernels/batch_norm_backward_reduce/batch_norm_backward_reduce.h"

#define ATEN_FAMILY "normalisation"
using namespace torch_aclnn::host::aten;
namespace kernels = torch_aclnn::kernels;

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

kernels::DType kernel_dtype(at::ScalarType dtype) {
    switch (dtype) {
        case at::kHalf: return kernels::DType::float16;
        case at::kBFloat16: return kernels::DType::bfloat16;
        case at::kFloat: return kernels::DType::float32;
        default: return kernels::DType::float64;
    }
}

// (N, C, inner) of a contiguous tensor.
kernels::View<3> rows_of_channels(const at::Tensor& tensor) {
    const int64_t n = tensor.size(0), channels = tensor.size(1), inner = tensor.numel() / std::max<int64_t>(1, n * channels);
    return {
        const_cast<void*>(tensor.const_data_ptr()), kernel_dtype(tensor.scalar_type()), {n, channels, inner}, {channels * inner, inner, 1}};
}

// The values of a channel each are so few that operators of ATen would take longer to call than to run.
using Channels = std::vector<double>;

Channels read_channels(const at::Tensor& values) {
    const at::Tensor adjacent = values.contiguous();
    Channels result(adjacent.numel());
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, adjacent.scalar_type(), "values of channels",
                                    [&] { std::copy_n(adjacent.const_data_ptr<scalar_t>(), result.size(), result.begin()); });
    return result;
}

void write_channels(const std::optional<at::Tensor>& out, const Channels& values) {
    if (!out) return;
    if (!out->is_contiguous() || out->numel() != static_cast<int64_t>(values.size())) return write(out, at::tensor(values));
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out->scalar_type(), "values of channels", [&] {
        std::transform(values.begin(), values.end(), out->mutable_data_ptr<scalar_t>(),
                       [](double value) { return static_cast<scalar_t>(value); });
    });
}

Channels product(Channels a, const Channels& b) {
    std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::multiplies());
    return a;
}

// One value for each channel.
Elements of_channels(const char* name, const at::Tensor& input) {
    if (input.dim() < 2) torch_aclnn::host::refuse(name, "at least 2 dimensions", shape_text(input.sizes()));
    return elements(input.size(1));
}

// A row for each rank, which has a count.
Elements of_ranks(const at::Tensor& counts, int64_t channels) {
    int64_t values = 0;
    if (__builtin_mul_overflow(counts.numel(), channels, &values))
        torch_aclnn::host::refuse("counts", "a number for each rank", shape_text(counts.sizes()));
    return elements(values);
}

struct BackwardSums {
    Channels dy, dy_xmu;
};

// A kernel of the package sums rows of adjacent elements in one pass.
BackwardSums backward_sums(const at::Tensor& grad_out, const at::Tensor& input, const Channels& mean) {
    const at::ScalarType dtype = at::promote_types(grad_out.scalar_type(), input.scalar_type());
    const at::Tensor dy = grad_out.to(dtype).contiguous(), x = input.to(dtype).contiguous();
    BackwardSums sums{Channels(mean.size()), Channels(mean.size())};
    kernels::batch_norm_backward_reduce(rows_of_channels(dy), rows_of_channels(x), mean.data(), sums.dy.data(), sums.dy_xmu.data(),
                                        at::get_num_threads());
    return sums;
}

void follow(const at::Tensor& running, const at::Tensor& batch, double momentum) {
    running.copy_(running.to(at::kDouble) * (1 - momentum) + batch * momentum);
}

}  // namespace

#define CHANNELS of_channels("input", input)

// The sum of x * (x - mean) is that of (x - mean)^2, because the deviations add up to nothing.
ATEN_ENTRY(aclnnBatchNormStats, FLOATING, (In, input), (Double, eps), (Out, mean, CHANNELS), (Out, invstd, CHANNELS)) {
    const double count = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
    Channels average = backward_sums(input, input, Channels(input.size(1))).dy;
    for (double& value : average) value /= count;
    Channels squares = backward_sums(input, input, average).dy_xmu;
    for (double& value : squares) value = 1 / std::sqrt(std::max(value, 0.0) / count + eps);
    write_channels(mean, average);
    write_channels(invstd, squares);
}

ATEN_ENTRY(aclnnBatchNormElemt, FLOATING, (In, input), (OptIn, weight, CHANNELS), (OptIn, bias, CHANNELS), (In, mean, CHANNELS),
           (In, invstd, CHANNELS), (Double, eps), (Out, output, like(input))) {
    at::Tensor normal = (upcast(input) - along_channels(mean, input)) * along_channels(invstd, input);
    if (weight) normal = normal * along_channels(*weight, input);
    if (bias) normal = normal + along_channels(*bias, input);
    write(output, normal);
}

// sumDyXmu is the sum of gradOut * (input - mean).
ATEN_ENTRY(aclnnBatchNormReduceBackward, FLOATING, (In, gradOut, shaped_like(input)), (In, input), (In, mean, CHANNELS),
           (In, invstd, CHANNELS), (OptIn, weight, CHANNELS), (Bool, inputG), (Bool, weightG), (Bool, biasG), (OptOut, sumDy, CHANNELS),
           (OptOut, sumDyXmu, CHANNELS), (OptOut, gradWeight, CHANNELS), (OptOut, gradBias, CHANNELS)) {
    const auto [sum_dy, sum_dy_xmu] = backward_sums(gradOut, input, read_channels(mean));
    if (inputG) write_channels(sumDy, sum_dy);
    if (inputG) write_channels(sumDyXmu, sum_dy_xmu);
    if (weightG) write_channels(gradWeight, product(sum_dy_xmu, read_channels(invstd)));
    if (biasG) write_channels(gradBias, sum_dy);
}

// mean and invstd have a row for each rank, which saw counts elements of each channel.
ATEN_ENTRY(aclnnBatchNormGatherStatsWithCounts, FLOATING, (In, input), (In, mean, of_ranks(counts, CHANNELS.count)),
           (In, invstd, of_ranks(counts, CHANNELS.count)), (OptInOut, runningMean, CHANNELS), (OptInOut, runningVar, CHANNELS),
           (Double, momentum), (Double, eps), (In, counts), (Out, meanAll, CHANNELS), (Out, invstdAll, CHANNELS)) {
    const at::Tensor count = counts.to(at::kDouble).reshape({-1, 1}), n = count.sum();
    const at::Tensor means = mean.to(at::kDouble).reshape({count.size(0), CHANNELS.count});
    const at::Tensor variances = (at::pow(invstd.to(at::kDouble).reshape_as(means), -2) - eps).clamp_min(0);
    const at::Tensor average = (count * means).sum(0) / n;
    const at::Tensor squares = (count * (variances + at::square(means - average))).sum(0);
    write(meanAll, average);
    write(invstdAll, at::rsqrt(squares / n + eps));
    if (runningMean) follow(*runningMean, average, momentum);
    if (runningVar) follow(*runningVar, squares / (n - 1), momentum);
}

// torch_npu's own way to the same: sums and sums of squares instead of means and deviations.
ATEN_ENTRY(aclnnBatchNormReduce, FLOATING, (In, x), (Out, sum, of_channels("x", x)), (Out, squareSum, of_channels("x", x))) {
    write(sum, sum_per_channel(x));
    write(squareSum, sum_per_channel(at::square(x.to(at::kDouble))));
}
ATEN_ENTRY(aclnnSyncBatchNormGatherStats, ANY, (In, totalSum, of_ranks(sampleCount, mean.numel())),
           (In, totalSquareSum, of_ranks(sampleCount, mean.numel())), (In, sampleCount), (InOut, mean, shape({mean.numel()})),
           (InOut, variance, shaped_like(mean)), (Float, momentum), (Float, eps), (Out, batchMean, as_many_as(mean)),
           (Out, batchInvstd, as_many_as(mean))) {
    const int64_t channels = mean.numel();
    const at::Tensor n = sampleCount.to(at::kDouble).sum();
    const at::Tensor average = totalSum.to(at::kDouble).reshape({-1, channels}).sum(0) / n;
    const at::Tensor squares = (totalSquareSum.to(at::kDouble).reshape({-1, channels}).sum(0) - n * at::square(average)).clamp_min(0);
    write(batchMean, average);
    write(batchInvstd, at::rsqrt(squares / n + eps));
    follow(mean, average, momentum);
    follow(variance, squares / (n - 1), momentum);
}
