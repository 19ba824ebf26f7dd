// Average pooling backward for tensors whose channels are adjacent. The sums over a window are separable: rows first.
#include "kernels/separable/jobs.h"
#include "kernels/simd/line_stream.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Tiles of columns and channels keep their sums in the first cache; rows are counted over n, h.
template <class T>
class AverageChannels {
   public:
    using S = Sum<T>;

    AverageChannels(const ChannelsJob& job, void* scratch) : job_(job), sums_(static_cast<S*>(scratch)), step_(job.grad_input.stride[4]) {}

    void run(int64_t begin, int64_t end) {
        for_tiles(begin, end, [&](const T* source, T* target, int64_t h, int64_t count, int64_t w, int64_t w_end) {
            if (rounds_once()) make_cells(source, h, w, w_end);
            fill(source, h, target, w, w_end);
            for (int64_t i = 1; i < count; ++i) repeat(source, h, target, target + i * job_.grad_input.stride[3], w, w_end);
        });
    }

    // Writes around the caches, where windows lie apart.
    void stream(int64_t begin, int64_t end) {
        LineStream stream;
        for_tiles(begin, end, [&](const T* source, T* target, int64_t h, int64_t count, int64_t w, int64_t w_end) {
            make_cells(source, h, w, w_end);
            for (int64_t i = 0; i < count; ++i) stream_row(stream, h, target + i * job_.grad_input.stride[3], w, w_end);
        });
    }

   private:
    // Calls body(source, target, h, count, w, w_end) for the columns [w, w_end) of `count` rows from h on that lie in the same windows.
    void for_tiles(int64_t begin, int64_t end, const auto& body) {
        const AxisTable &rows = job_.rows, &columns = job_.columns;
        const View<5>&out = job_.grad_output, &in = job_.grad_input;
        for (int64_t row = begin; row < end;) {
            const int64_t n = row / rows.in, h = row % rows.in;
            const int64_t count = smaller(end - row, rows.run_end[h] - h);
            for (int64_t c = 0; c < in.size[1]; c += job_.tile_channels) {
                channels_ = smaller(job_.tile_channels, in.size[1] - c);
                const T* source = static_cast<const T*>(out.data) + n * out.stride[0] + c;
                T* target = static_cast<T*>(in.data) + n * in.stride[0] + c + h * in.stride[3];
                for (int64_t w = 0, w_end; w < columns.in; w = w_end) {
                    for (w_end = w + 1; w_end < columns.in && columns.last[w_end] - columns.first[w] <= job_.tile_columns;) ++w_end;
                    body(source, target, h, count, w, w_end);
                }
            }
            row += count;
        }
    }

    // Writes columns of a row from the cells of their windows.
    void stream_row(LineStream& stream, int64_t h, T* row, int64_t w, int64_t w_end) const {
        const AxisTable& columns = job_.columns;
        const bool is_outside = job_.rows.first[h] == job_.rows.last[h];
        const auto zeros = [](auto width, int64_t) { return Vector<S, decltype(width)::value>{}; };
        for (int64_t i = w; i < w_end; ++i) {
            T* const target = row + i * step_;
            if (is_outside || columns.first[i] == columns.last[i])
                stream.write<kLanes<S>>(target, channels_, zeros);
            else
                stream.copy(target, cells() + (columns.first[i] - columns.first[w]) * channels_, channels_);
        }
    }

    static constexpr int64_t kChannelsOfCopy = 256, kElementsOfRun = 512;

    // Computes the scaled sum over the rows of the windows that hold row h, in window column o.
    void sum_rows(const T* source, int64_t h, int64_t o, S* line) const {
        const int64_t first = job_.rows.first[h], count = job_.rows.last[h] - first;
        if (count == 0) return (void)__builtin_memset(line, 0, channels_ * sizeof(S));
        source += first * job_.grad_output.stride[3];
        if (job_.rows.scale != nullptr) return add_scaled_rows(source, count, first, o, line);
        visit_count(count, [&](auto known) { add_rows(source, known, o, line); });
    }

    void add_rows(const T* source, auto count, int64_t o, S* line) const {
        const S column_scale = static_cast<const S*>(job_.columns.scale)[o];
        const int64_t row_stride = job_.grad_output.stride[3];
        for_lanes<S>(channels_, [=](auto width, int64_t c) {
            constexpr int N = decltype(width)::value;
            store<N>(line + c, sum_apart<N>(source + c, row_stride, count) * column_scale + S{0});
        });
    }

    void add_scaled_rows(const T* source, int64_t count, int64_t first, int64_t o, S* line) const {
        const S column_scale = static_cast<const S*>(job_.columns.scale)[o];
        const auto* row_scale = static_cast<const S*>(job_.rows.scale) + first;
        const int64_t row_stride = job_.grad_output.stride[3];
        for_lanes<S>(channels_, [=](auto width, int64_t c) {
            constexpr int N = decltype(width)::value;
            store<N>(line + c, sum_scaled<N, true>(source + c, row_stride, 1, count, row_scale) * column_scale + S{0});
        });
    }

    // Computes the columns [w, w_end) of row h.
    void fill(const T* source, int64_t h, T* row, int64_t w, int64_t w_end) const {
        const int64_t base = job_.columns.first[w];
        if (job_.apart)
            return for_runs(row, w, w_end, [&](T* target, int64_t repeats, int64_t column) {
                fill_from_window(source, h, target, repeats, column, base);
            });
        for (int64_t o = base; o < job_.columns.last[w_end - 1]; ++o)
            sum_rows(source + o * job_.grad_output.stride[4], h, o, sums_ + (o - base) * channels_);
        for_runs(row, w, w_end, [&](T* target, int64_t repeats, int64_t column) { expand(target, repeats, column, base); });
    }

    // Writes the same columns of another row in the same windows: as a copy, unless computing them again reads less from the second cache.
    void repeat(const T* source, int64_t h, const T* from, T* to, int64_t w, int64_t w_end) const {
        constexpr int64_t kFirstCacheBytes = 32768;
        const int64_t count = (w_end - w) * step_;
        const bool is_cheap = job_.apart && std::is_same_v<T, S> && count * static_cast<int64_t>(sizeof(T)) > kFirstCacheBytes;
        if (is_cheap || step_ != channels_) return fill(source, h, to, w, w_end);
        copy_elements(to + w * step_, from + w * step_, count);
    }

    // Calls body(target, repeats, w) for the columns [w, w_end) of a row: where column w is, and how many from it on lie in the same
    // windows. Long runs come in parts.
    void for_runs(T* row, int64_t w, int64_t w_end, const auto& body) const {
        const int64_t limit = step_ == channels_ ? smaller(w_end - w, kElementsOfRun / channels_ + 1) : 1;
        for (int64_t count; w < w_end; w += count) {
            count = smaller(limit, w_end - w);
            T* target = row + w * step_;
            for (int64_t i = 0, run_end; i < count; i = run_end) {
                run_end = smaller(count, job_.columns.run_end[w + i] - w);
                body(target + i * channels_, run_end - i, w + i);
            }
        }
    }

    // Writes a cell to `repeats` places from the sums of its windows, of which the first one that is kept is window `base`.
    void expand(T* target, int64_t repeats, int64_t w, int64_t base) const {
        const S* line = sums_ + (job_.columns.first[w] - base) * channels_;
        const int64_t count = job_.columns.last[w] - job_.columns.first[w];
        if (count == 0) return clear(target, repeats);
        visit_count(count, [=, channels = channels_](auto known) {
            put(target, repeats, channels,
                [=](auto width, int64_t c) { return sum_apart<decltype(width)::value>(line + c, channels, known); });
        });
    }

    // Writes cells from the only window that holds them, if there is one.
    void fill_from_window(const T* source, int64_t h, T* target, int64_t repeats, int64_t w, int64_t base) const {
        const int64_t o = job_.columns.first[w];
        if (job_.rows.first[h] == job_.rows.last[h] || o == job_.columns.last[w]) return clear(target, repeats);
        if (!rounds_once()) return spread(source, h, o, target, repeats);
        const T* const cell = cells() + (o - base) * channels_;
        for (int64_t i = 0; i < repeats; ++i) copy_elements(target + i * step_, cell, channels_);
    }

    // For half types a copy takes less time than computing a cell again.
    bool rounds_once() const { return !std::is_same_v<T, S> && job_.apart && channels_ >= kChannelsOfCopy; }
    // Cells take the place of the sums, which windows that lie apart do not have.
    T* cells() const { return reinterpret_cast<T*>(sums_); }

    // Computes a cell for each window of the columns [w, w_end).
    void make_cells(const T* source, int64_t h, int64_t w, int64_t w_end) const {
        if (job_.rows.first[h] == job_.rows.last[h]) return;
        const int64_t base = job_.columns.first[w];
        for (int64_t o = base; o < job_.columns.last[w_end - 1]; ++o) spread(source, h, o, cells() + (o - base) * channels_, 1);
    }

    // Writes columns from the only window that holds them and row h.
    void spread(const T* source, int64_t h, int64_t w_out, T* target, int64_t repeats) const {
        const int64_t h_out = job_.rows.first[h];
        source += h_out * job_.grad_output.stride[3] + w_out * job_.grad_output.stride[4];
        const S column_scale = static_cast<const S*>(job_.columns.scale)[w_out];
        const S* row_scale = static_cast<const S*>(job_.rows.scale);
        if (row_scale == nullptr)
            put(target, repeats, channels_,
                [=](auto width, int64_t c) { return load<decltype(width)::value>(source + c) * column_scale + S{0}; });
        else
            put(target, repeats, channels_, [=, scale = row_scale[h_out]](auto width, int64_t c) {
                return load<decltype(width)::value>(source + c) * scale * column_scale + S{0};
            });
    }

    void clear(T* target, int64_t repeats) const { __builtin_memset(target, 0, repeats * channels_ * sizeof(T)); }

    // Writes the lanes of value(width, c) to `repeats` places, a cell apart.
    static void put(T* target, int64_t repeats, int64_t channels, const auto& value) {
        for_lanes<S>(channels, [=](auto width, int64_t c) {
            constexpr int N = decltype(width)::value;
            const auto lanes = value(width, c);
            store<N>(target + c, lanes);
            for (int64_t i = 1; i < repeats; ++i) store<N>(target + i * channels + c, lanes);
        });
    }

    const ChannelsJob& job_;
    S* const sums_;
    const int64_t step_;  // the step from a column of grad_input to the next
    int64_t channels_ = 0;
};

void average_channels(const ChannelsJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) {
        AverageChannels<decltype(element)> loop(job, scratch);
        job.stream ? loop.stream(begin, end) : loop.run(begin, end);
    });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
