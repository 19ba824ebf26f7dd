// The pieces of synchronised batch norm. ATen has no CPU kernels for them; channels are dimension 1. Sums are taken in float64.
// The backward's last piece, aclnnBatchNormElemtBackward, is an operator of its own, in libopapi.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "kernels/batch_norm_backward_reduce/batch_norm_backward_reduce.h"
#include "vocabulary/normalization/batch_statistics_calls.h"

namespace kernels = torch_aclnn::kernels;

namespace {

std::vector<int64_t> all_but_channels(const at::Tensor& input) {
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < input.dim(); i++) {
        if (i != 1) dims.push_back(i);
    }
    return dims;
}

// Returns one value for each channel, such that it broadcasts to the input.
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

// Returns a view (N, C, inner) of a contiguous tensor.
kernels::View<3> rows_of_channels(const at::Tensor& tensor) {
    const int64_t n = tensor.size(0), channels = tensor.size(1), inner = tensor.numel() / std::max<int64_t>(1, n * channels);
    return {
        const_cast<void*>(tensor.const_data_ptr()), kernel_dtype(tensor.scalar_type()), {n, channels, inner}, {channels * inner, inner, 1}};
}

// ATen's operators would take longer to call than to run on so few values as one for each channel.
using Channels = std::vector<double>;

Channels read_channels(const at::Tensor& values) {
    const at::Tensor adjacent = values.contiguous();
    Channels result(adjacent.numel());
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, adjacent.scalar_type(), "values of channels",
                                    [&] { std::copy_n(adjacent.const_data_ptr<scalar_t>(), result.size(), result.begin()); });
    return result;
}

void write_channels(const OptTensor& out, const Channels& values) {
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

Elements of_ranks(const at::Tensor& counts, int64_t channels) {
    int64_t values = 0;
    if (__builtin_mul_overflow(counts.numel(), channels, &values)) refuse("counts", "a number for each rank", shape_text(counts.sizes()));
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

// The sum of x * (x - mean) is that of (x - mean)^2, because the deviations add up to nothing.
static void compute(const call::BatchNormStats& a) {
    const double count = static_cast<double>(a.input.numel()) / static_cast<double>(a.input.size(1));
    Channels average = backward_sums(a.input, a.input, Channels(a.input.size(1))).dy;
    for (double& value : average) value /= count;
    Channels squares = backward_sums(a.input, a.input, average).dy_xmu;
    for (double& value : squares) value = 1 / std::sqrt(std::max(value, 0.0) / count + a.eps);
    write_channels(a.mean, average);
    write_channels(a.invstd, squares);
}

static void compute(const call::BatchNormElemt& a) {
    at::Tensor normal = (upcast(a.input) - along_channels(a.mean, a.input)) * along_channels(a.invstd, a.input);
    if (a.weight) normal = normal * along_channels(*a.weight, a.input);
    if (a.bias) normal = normal + along_channels(*a.bias, a.input);
    write(a.output, normal);
}

// sumDyXmu is the sum of gradOut * (input - mean).
static void compute(const call::BatchNormReduceBackward& a) {
    const auto [sum_dy, sum_dy_xmu] = backward_sums(a.gradOut, a.input, read_channels(a.mean));
    if (a.inputG) write_channels(a.sumDy, sum_dy);
    if (a.inputG) write_channels(a.sumDyXmu, sum_dy_xmu);
    if (a.weightG) write_channels(a.gradWeight, product(sum_dy_xmu, read_channels(a.invstd)));
    if (a.biasG) write_channels(a.gradBias, sum_dy);
}

// mean and invstd have a row for each rank, which saw counts elements of each channel.
static void compute(const call::BatchNormGatherStatsWithCounts& a) {
    const at::Tensor count = a.counts.to(at::kDouble).reshape({-1, 1}), n = count.sum();
    const at::Tensor means = a.mean.to(at::kDouble).reshape({count.size(0), a.input.size(1)});
    const at::Tensor variances = (at::pow(a.invstd.to(at::kDouble).reshape_as(means), -2) - a.eps).clamp_min(0);
    const at::Tensor average = (count * means).sum(0) / n;
    const at::Tensor squares = (count * (variances + at::square(means - average))).sum(0);
    write(a.meanAll, average);
    write(a.invstdAll, at::rsqrt(squares / n + a.eps));
    if (a.runningMean) follow(*a.runningMean, average, a.momentum);
    if (a.runningVar) follow(*a.runningVar, squares / (n - 1), a.momentum);
}

// torch_npu has a way of its own to the same: sums and sums of squares instead of means and deviations.
static void compute(const call::BatchNormReduce& a) {
    write(a.sum, sum_per_channel(a.x));
    write(a.squareSum, sum_per_channel(at::square(a.x.to(at::kDouble))));
}
static void compute(const call::SyncBatchNormGatherStats& a) {
    const int64_t channels = a.mean.numel();
    const at::Tensor n = a.sampleCount.to(at::kDouble).sum();
    const at::Tensor average = a.totalSum.to(at::kDouble).reshape({-1, channels}).sum(0) / n;
    const at::Tensor squares = (a.totalSquareSum.to(at::kDouble).reshape({-1, channels}).sum(0) - n * at::square(average)).clamp_min(0);
    write(a.batchMean, average);
    write(a.batchInvstd, at::rsqrt(squares / n + a.eps));
    follow(a.mean, average, a.momentum);
    follow(a.variance, squares / (n - 1), a.momentum);
}
