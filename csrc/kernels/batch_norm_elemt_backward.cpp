#include "kernels/batch_norm_elemt_backward.h"

#include <algorithm>
#include <vector>

#include "kernels/parallel.h"

namespace torch_aclnn::kernels {
namespace {

constexpr int64_t kBlock = 256;  // elements that are converted at a time; three such buffers stay in the first cache

template <class Compute>
void load(const View<8>& view, int64_t offset, int64_t count, Compute* target) {
    visit_floating(view.dtype, [&](auto tag) {
        const auto* source = static_cast<const typename decltype(tag)::type*>(view.data) + offset;
        for (int64_t i = 0; i < count; ++i) target[i] = static_cast<Compute>(source[i * view.stride[7]]);
    });
}

template <class Compute>
void store(const View<8>& view, int64_t offset, int64_t count, const Compute* source) {
    visit_floating(view.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* target = static_cast<T*>(view.data) + offset;
        for (int64_t i = 0; i < count; ++i) target[i * view.stride[7]] = static_cast<T>(source[i]);
    });
}

double channel_value(const View<1>& view, int64_t channel) {
    double value = 1;
    if (view.data == nullptr) return value;
    visit_floating(view.dtype,
                   [&](auto tag) { value = static_cast<const typename decltype(tag)::type*>(view.data)[channel * view.stride[0]]; });
    return value;
}

// grad_input = ((grad_out - mean_dy) - (input - mean) * slope) * scale
template <class Compute>
struct Coefficients {
    Compute mean, mean_dy, slope, scale;
};

template <class Compute>
std::vector<Coefficients<Compute>> coefficients(const BatchNormChannels& channels, int64_t channel_count, double n) {
    std::vector<Coefficients<Compute>> all;
    for (int64_t c = 0; c < channel_count; ++c) {
        const double invstd = channel_value(channels.invstd, c);
        all.push_back({static_cast<Compute>(channel_value(channels.mean, c)), static_cast<Compute>(channel_value(channels.sum_dy, c) / n),
                       static_cast<Compute>(invstd * invstd * channel_value(channels.sum_dy_xmu, c) / n),
                       static_cast<Compute>(invstd * channel_value(channels.weight, c))});
    }
    return all;
}

// The offset of the row that starts at linear position `row` over all dimensions but the last.
int64_t row_offset(const View<8>& view, int64_t row) {
    int64_t offset = 0;
    for (int d = 6; d >= 0; row /= view.size[d--]) offset += row % view.size[d] * view.stride[d];
    return offset;
}

template <class Compute>
void apply(const View<8>& grad_out, const View<8>& input, const BatchNormChannels& channels, double n, const View<8>& grad_input,
           int thread_count) {
    const auto per_channel = coefficients<Compute>(channels, input.size[1], n);
    int64_t row_count = 1, rows_per_channel = 1;
    for (int d = 0; d < 7; ++d) row_count *= input.size[d];
    for (int d = 2; d < 7; ++d) rows_per_channel *= input.size[d];
    const int64_t width = input.size[7];

    parallel_for(row_count, width, thread_count, [&](int64_t begin, int64_t end) {
        Compute dy[kBlock], x[kBlock];
        for (int64_t row = begin; row < end; ++row) {
            const Coefficients<Compute>& k = per_channel[row / rows_per_channel % input.size[1]];
            const int64_t dy_row = row_offset(grad_out, row), x_row = row_offset(input, row), dx_row = row_offset(grad_input, row);
            for (int64_t w = 0; w < width; w += kBlock) {
                const int64_t count = std::min(kBlock, width - w);
                load(grad_out, dy_row + w * grad_out.stride[7], count, dy);
                load(input, x_row + w * input.stride[7], count, x);
                for (int64_t i = 0; i < count; ++i) dy[i] = ((dy[i] - k.mean_dy) - (x[i] - k.mean) * k.slope) * k.scale;
                store(grad_input, dx_row + w * grad_input.stride[7], count, dy);
            }
        }
    });
}

}  // namespace

void batch_norm_elemt_backward(const View<8>& grad_out, const View<8>& input, const BatchNormChannels& channels, double n,
                               const View<8>& grad_input, int thread_count) {
    if (input.empty()) return;
    const auto run = input.dtype == DType::float64 ? apply<double> : apply<float>;
    run(grad_out, input, channels, n, grad_input, thread_count);
}

double sum_elements(const View<8>& view) {
    double sum = 0;
    int64_t row_count = 1;
    for (int d = 0; d < 7; ++d) row_count *= view.size[d];
    for (int64_t row = 0; row < row_count; ++row)
        for (int64_t i = 0; i < view.size[7]; ++i) {
            const int64_t offset = row_offset(view, row) + i * view.stride[7];
            if (view.dtype == DType::int32) sum += static_cast<const int32_t*>(view.data)[offset];
            visit_floating(view.dtype, [&](auto tag) { sum += static_cast<const typename decltype(tag)::type*>(view.data)[offset]; });
        }
    return sum;
}

}  // namespace torch_aclnn::kernels
