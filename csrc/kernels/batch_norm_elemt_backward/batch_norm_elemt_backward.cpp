#include "kernels/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

#include <vector>

#include "kernels/batch_norm_elemt_backward/job.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

// Returns the values in float64, or ones if there is no tensor.
std::vector<double> channel_values(const View<1>& view, int64_t count) {
    std::vector<double> values(count, 1);
    if (view.data == nullptr) return values;
    visit_floating(view.dtype, [&](auto tag) {
        const auto* const data = static_cast<const typename decltype(tag)::type*>(view.data);
        for (int64_t c = 0; c < count; ++c) values[c] = data[c * view.stride[0]];
    });
    return values;
}

// Returns a number for each channel, computed in float64 and rounded once to the type of the computation, `repeats` times in all.
template <class S>
struct Coefficients {
    std::vector<S> mean, mean_dy, slope, scale;

    Coefficients(const BatchNormChannels& channels, int64_t count, int64_t repeats, double n)
        : mean(count * repeats), mean_dy(count * repeats), slope(count * repeats), scale(count * repeats) {
        const auto given_mean = channel_values(channels.mean, count), invstd = channel_values(channels.invstd, count),
                   weight = channel_values(channels.weight, count), sum_dy = channel_values(channels.sum_dy, count),
                   sum_dy_xmu = channel_values(channels.sum_dy_xmu, count);
        for (int64_t c = 0; c < count; ++c) {
            mean[c] = static_cast<S>(given_mean[c]);
            mean_dy[c] = static_cast<S>(sum_dy[c] / n);
            slope[c] = static_cast<S>(invstd[c] * invstd[c] * sum_dy_xmu[c] / n);
            scale[c] = static_cast<S>(invstd[c] * weight[c]);
        }
        for (std::vector<S>* values : {&mean, &mean_dy, &slope, &scale})
            for (size_t i = count; i < values->size(); ++i) (*values)[i] = (*values)[i - count];
    }

    BatchNormJob added_to(BatchNormJob job) const {
        job.mean = mean.data();
        job.mean_dy = mean_dy.data();
        job.slope = slope.data();
        job.scale = scale.data();
        return job;
    }
};

LoopOperand operand(const View<8>& view) {
    LoopOperand result{view.data, view.dtype, {}};
    for (int d = 0; d < 8; ++d) result.stride[d] = view.stride[d];
    return result;
}

// Whether the result is written around the caches: if they do not hold it or, with long rows, if it takes half of the last cache, where it
// would not stay beside inputs of its size. The ends of rows take longer to stream than to store, so short rows of one channel are stored;
// rows that run over the channels are joined.
bool streams(const BatchNormJob& job, const View<8>& grad_input) {
    constexpr int64_t kLongRowBytes = 1024, kShortRowBytes = 128, kShortRowBytesOfHalfTypes = 384;
    const int row = job.loop.rank - 1;
    const int64_t bytes = job.loop.size[row] * element_size(grad_input.dtype);
    const int64_t short_bytes = is_half_type(grad_input.dtype) ? kShortRowBytesOfHalfTypes : kShortRowBytes;
    if (!grad_input.is_aligned() || (job.channel_stride[row] == 0 && bytes < short_bytes)) return false;
    return is_large(grad_input) || (exceeds_share_of_cache(grad_input) && bytes >= kLongRowBytes);
}

// Returns the job without its coefficients.
BatchNormJob plan_loop(const View<8>& grad_out, const View<8>& input, const View<8>& grad_input) {
    BatchNormJob job{};
    job.loop.rank = 8;
    for (int d = 0; d < 8; ++d) job.loop.size[d] = input.size[d];
    job.grad_out = operand(grad_out);
    job.input = operand(input);
    job.grad_input = operand(grad_input);
    job.channel_stride[1] = 1;
    job.buffered = grad_input.data == grad_out.data || grad_input.data == input.data;

    const std::initializer_list<int64_t*> strides{job.grad_out.stride, job.input.stride, job.grad_input.stride, job.channel_stride};
    if (channels_innermost(grad_input)) move_to_end(job.loop, strides, 1);
    simplify(job.loop, strides);
    job.stream = streams(job, grad_input);
    return job;
}

// Returns how many short rows over the channels, which follow each other in memory, are joined to one.
int64_t joinable_rows(const BatchNormJob& job) {
    constexpr int64_t kJoined = 256;  // elements that fit into the first cache together with their coefficients
    const Loop& loop = job.loop;
    const int row = loop.rank - 1;
    if (row == 0 || job.channel_stride[row] != 1 || loop.size[row] > BatchNormJob::kBlock) return 1;
    const int64_t width = loop.size[row];
    for (const LoopOperand* view : {&job.grad_out, &job.input, &job.grad_input})
        if (view->stride[row] != 1 || view->stride[row - 1] != width) return 1;
    int64_t count = std::max<int64_t>(1, kJoined / width);
    while (loop.size[row - 1] % count != 0) --count;
    return count;
}

BatchNormJob join_rows(BatchNormJob job, int64_t count) {
    if (count == 1) return job;
    const int row = job.loop.rank - 1;
    job.loop.size[row] *= count;
    job.loop.size[row - 1] /= count;
    for (LoopOperand* view : {&job.grad_out, &job.input, &job.grad_input}) view->stride[row - 1] *= count;
    return job;
}

template <class S>
void run_loop(const BatchNormJob& loop_only, const BatchNormChannels& channels, int64_t channel_count, double n, int thread_count) {
    const int64_t joined = joinable_rows(loop_only);
    const Coefficients<S> coefficients(channels, channel_count, joined, n);
    const BatchNormJob job = coefficients.added_to(join_rows(loop_only, joined));
    const int64_t bytes = BatchNormJob::kBlock * static_cast<int64_t>(2 * sizeof(S) + sizeof(double));
    // The vector loops compute in the type of the result's sums.
    const bool is_double = std::is_same_v<S, double>, gives_double = job.grad_input.dtype == DType::float64;
    BatchNormLoop* const loop = is_double == gives_double ? TORCH_ACLNN_LOOP(batch_norm) : scalar::batch_norm;
    parallel_for(element_count(job.loop), kCostOfSum, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loop(job, begin, end, scratch.data());
    });
}

}  // namespace

void batch_norm_elemt_backward(const View<8>& grad_out, const View<8>& input, const BatchNormChannels& channels, double n,
                               const View<8>& grad_input, int thread_count) {
    if (input.empty()) return;
    const BatchNormJob job = plan_loop(grad_out, input, grad_input);
    const auto run_in = input.dtype == DType::float64 ? run_loop<double> : run_loop<float>;
    run_in(job, channels, input.size[1], n, thread_count);
}

double sum_elements(const View<8>& given) {
    View<8> view = given;
    double sum = 0, repeats = 1;
    int64_t count = 1;
    for (int d = 0; d < 8; ++d) {
        // A dimension of stride 0 repeats the same elements.
        if (view.stride[d] == 0 && view.size[d] > 0) repeats *= static_cast<double>(std::exchange(view.size[d], 1));
        count *= view.size[d];
    }
    for (int64_t element = 0; element < count; ++element) {
        int64_t offset = 0;
        for (int64_t d = 7, rest = element; d >= 0; rest /= view.size[d--]) offset += rest % view.size[d] * view.stride[d];
        if (view.dtype == DType::int32) sum += static_cast<const int32_t*>(view.data)[offset];
        visit_floating(view.dtype, [&](auto tag) { sum += static_cast<const typename decltype(tag)::type*>(view.data)[offset]; });
    }
    return sum * repeats;
}

}  // namespace torch_aclnn::kernels
