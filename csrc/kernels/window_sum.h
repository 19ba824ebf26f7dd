// The common form of the pooling and padding backwards: each input cell sums the output cells of a rectangle, each divided by its weight.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/view.h"

namespace torch_aclnn::kernels {

// One axis of the rectangles: input index i takes the output indices [first[i], last[i]); output index o was divided by divisor[o].
struct WindowAxis {
    std::vector<int64_t> first;
    std::vector<int64_t> last;
    std::vector<int64_t> divisor;
};

// grad_input[n,c,h,w] = sum over the rectangle of (h, w) of grad_output[n,c,oh,ow] / (rows.divisor[oh] * columns.divisor[ow]).
// Gathers, so that each element is written once and the order of the additions is fixed.
template <class T>
void window_sum(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns,
                int thread_count) {
    using Sum = typename Accumulator<T>::type;
    using Divisor = decltype(std::abs(Sum{}));
    const int64_t channels = grad_input.size[1], height = grad_input.size[2], width = grad_input.size[3];
    const int64_t* in = grad_input.stride;
    const int64_t* out = grad_output.stride;

    const auto sum_rectangle = [&](const T* plane, int64_t h, int64_t w) {
        Sum sum{};
        for (int64_t oh = rows.first[h]; oh < rows.last[h]; ++oh)
            for (int64_t ow = columns.first[w]; ow < columns.last[w]; ++ow)
                sum += static_cast<Sum>(plane[oh * out[2] + ow * out[3]]) / static_cast<Divisor>(rows.divisor[oh] * columns.divisor[ow]);
        return static_cast<T>(sum);
    };

    parallel_for(grad_input.size[0] * channels * height, width, thread_count, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t n = row / height / channels, c = row / height % channels, h = row % height;
            const T* plane = static_cast<const T*>(grad_output.data) + n * out[0] + c * out[1];
            T* target = static_cast<T*>(grad_input.data) + n * in[0] + c * in[1] + h * in[2];
            for (int64_t w = 0; w < width; ++w) target[w * in[3]] = sum_rectangle(plane, h, w);
        }
    });
}

}  // namespace torch_aclnn::kernels
