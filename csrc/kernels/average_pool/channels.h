// Average pooling backward for tensors whose channels are adjacent. The sums over a window are separable: rows first.
#pragma once

#include "kernels/average_pool/job.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Tiles of columns and channels keep their sums in the first cache; rows are counted over n, h.
template <class T>
class AveragePoolChannels {
   public:
    using S = Sum<T>;

    AveragePoolChannels(const AveragePoolJob& job, void* scratch)
        : job_(job), sums_(static_cast<S*>(scratch)), sink_(static_cast<char*>(scratch) + job.sum_bytes, job.sink_bytes, job.stream) {}

    void run(int64_t begin, int64_t end) {
        const AxisTable &rows = job_.rows, &columns = job_.columns;
        const View<4>&out = job_.grad_output, &in = job_.grad_input;
        for (int64_t row = begin; row < end;) {
            const int64_t n = row / rows.in, h = row % rows.in;
            const int64_t count = smaller(end - row, rows.run_end[h] - h);
            for (int64_t c = 0; c < in.size[1]; c += job_.tile_channels) {
                channels_ = smaller(job_.tile_channels, in.size[1] - c);
                const T* source = static_cast<const T*>(out.data) + n * out.stride[0] + c;
                T* target = static_cast<T*>(in.data) + n * in.stride[0] + c + h * in.stride[2];
                for (int64_t w = 0, w_end; w < columns.in; w = w_end) {
                    for (w_end = w + 1; w_end < columns.in && columns.last[w_end] - columns.first[w] <= job_.tile_columns;) ++w_end;
                    for (int64_t o = columns.first[w]; o < columns.last[w_end - 1]; ++o)
                        sum_rows(source + o * out.stride[3], h, o, sums_ + (o - columns.first[w]) * channels_);
                    for (int64_t i = 0; i < count; ++i) expand(target + i * in.stride[2], w, w_end);
                }
            }
            row += count;
        }
    }

   private:
    // The scaled sum over the rows of the windows that hold row h, in window column o.
    void sum_rows(const T* source, int64_t h, int64_t o, S* line) const {
        const int64_t first = job_.rows.first[h], count = job_.rows.last[h] - first;
        if (count == 0) return (void)__builtin_memset(line, 0, channels_ * sizeof(S));
        source += first * job_.grad_output.stride[2];
        if (job_.rows.scale != nullptr) return add_scaled_rows(source, count, first, o, line);
        visit_count(count, [&](auto known) { add_rows(source, known, o, line); });
    }

    template <class Count>
    void add_rows(const T* source, Count count, int64_t o, S* line) const {
        const S column_scale = static_cast<const S*>(job_.columns.scale)[o];
        const int64_t row_stride = job_.grad_output.stride[2];
        for_lanes<S>(channels_, [=](auto width, int64_t c) {
            constexpr int N = decltype(width)::value;
            store<N>(line + c, sum_apart<N>(source + c, row_stride, count) * column_scale + S{0});
        });
    }

    void add_scaled_rows(const T* source, int64_t count, int64_t first, int64_t o, S* line) const {
        const S column_scale = static_cast<const S*>(job_.columns.scale)[o];
        const auto* row_scale = static_cast<const S*>(job_.rows.scale) + first;
        const int64_t row_stride = job_.grad_output.stride[2];
        for_lanes<S>(channels_, [=](auto width, int64_t c) {
            constexpr int N = decltype(width)::value;
            store<N>(line + c, sum_scaled<N, true>(source + c, row_stride, 1, count, row_scale) * column_scale + S{0});
        });
    }

    // The columns [w, w_end) of a row, from the sums that begin with the first window of w.
    void expand(T* row, int64_t w, int64_t w_end) {
        const int64_t base = job_.columns.first[w], step = job_.grad_input.stride[3];
        const int64_t limit = step == channels_ ? smaller(w_end - w, AveragePoolJob::kBlock / channels_ + 1) : 1;
        for (int64_t count; w < w_end; w += count) {
            count = smaller(limit, w_end - w);
            T* target = sink_.room(row + w * step, count * channels_);
            for (int64_t i = 0; i < count; ++i) expand_column(target + i * channels_, w + i, base);
        }
    }

    void expand_column(T* target, int64_t w, int64_t base) const {
        const S* line = sums_ + (job_.columns.first[w] - base) * channels_;
        const int64_t count = job_.columns.last[w] - job_.columns.first[w];
        if (count == 0) return (void)__builtin_memset(target, 0, channels_ * sizeof(T));
        const int64_t channels = channels_;
        visit_count(count, [=](auto known) {
            for_lanes<S>(channels, [=](auto width, int64_t c) {
                constexpr int N = decltype(width)::value;
                store<N>(target + c, sum_apart<N>(line + c, channels, known));
            });
        });
    }

    const AveragePoolJob& job_;
    S* sums_;
    Sink sink_;
    int64_t channels_ = 0;
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
