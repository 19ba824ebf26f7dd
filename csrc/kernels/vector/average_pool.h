// Average pooling backward, both layouts. The sums over a window are separable: rows first, into one line of sums, then columns.
#pragma once

#include "kernels/vector/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// line[i] = sum over the rows of source[row, i] * row_scale[row]; the rows lie row_stride apart, there is at least one.
template <int N, bool kAdjacent, class T>
inline Vector<Sum<T>, N> sum_rows(const T* source, int64_t row_stride, int64_t stride, int64_t count, const Sum<T>* row_scale) {
    auto sum = load_strided<N, kAdjacent>(source, stride);
    if (row_scale == nullptr) {
        for (int64_t row = 1; row < count; ++row) sum += load_strided<N, kAdjacent>(source + row * row_stride, stride);
        return sum;
    }
    sum *= row_scale[0];
    for (int64_t row = 1; row < count; ++row) sum += load_strided<N, kAdjacent>(source + row * row_stride, stride) * row_scale[row];
    return sum;
}

// The columns of one row. Outside [0, out) the line of sums is zero, so that the borders need no code of their own.
template <class T>
class Columns {
   public:
    using S = Sum<T>;

    Columns(const AveragePoolJob& job, S* memory, int64_t line_size)
        : job_(job), lines_{memory, memory + line_size, memory + 2 * line_size} {
        __builtin_memset(memory, 0, 3 * line_size * sizeof(S));
        lead_ = kSlack / sizeof(S);
        terms_ = job.step == 0 ? 1 : (job.kernel - 1) / job.step + 1;
    }

    S* sums() { return lines_[0] + lead_; }

    // Writes the row that follows from sums().
    void expand(T* row) const {
        switch (job_.step) {
            case 0: return fill_runs(row);
            case 1: return slide(row);
            case 2: return interleave<2>(row);
            default: return interleave<3>(row);
        }
    }

   private:
    static constexpr int N = kLanes<S>;

    // The sum of `terms` neighbours that ends at each of N places.
    static Vector<S, N> window(const S* last, int64_t terms) {
        auto sum = load<N>(last - (terms - 1));
        for (int64_t back = terms - 2; back >= 0; --back) sum += load<N>(last - back);
        return sum;
    }

    void slide(T* row) const {
        const S* last = lines_[0] + lead_ + job_.padding;
        for (int64_t i = 0; i < job_.columns.in; i += N) store<N>(row + i, window(last + i, terms_));
    }

    // A column that leads with the remainder r by the step lies in `terms_` windows, or in one less if the kernel ends before r.
    template <int kStep>
    void interleave(T* row) const {
        const S* window_sums[2] = {sliding_sums(terms_ - 1, 1), sliding_sums(terms_, 2)};
        const S* sources[kStep];
        for (int i = 0; i < kStep; ++i) {
            const int64_t place = job_.padding + i, r = place % kStep;
            const int64_t terms = r < job_.kernel ? (job_.kernel - 1 - r) / kStep + 1 : 0;
            sources[i] = window_sums[terms - (terms_ - 1)] + place / kStep;
        }
        for (int64_t i = 0; i * kStep < job_.columns.in; i += N) {
            Vector<S, N> phases[kStep];
            for (int phase = 0; phase < kStep; ++phase) phases[phase] = load<N>(sources[phase] + i);
            store_interleaved<kStep>(row + i * kStep, phases);
        }
    }

    // The sums of this many neighbours at each place: zeros, the line itself, or a line that is made now.
    const S* sliding_sums(int64_t terms, int line) const {
        if (terms == 1) return lines_[0] + lead_;
        S* target = lines_[line] + lead_;
        if (terms > 1)
            for (int64_t i = 0; i < job_.columns.in / job_.step + job_.padding + 2; i += N)
                store<N>(target + i, window(lines_[0] + lead_ + i, terms));
        return target;
    }

    template <int kStep>
    static void store_interleaved(T* target, const Vector<S, N>* phases) {
        using Index = std::conditional_t<sizeof(S) == 4, int32_t, int64_t>;
        for (int part = 0; part < kStep; ++part) {
            // Element e of the interleaved order is phases[e % kStep][e / kStep].
            Vector<Index, N> from_first_two{}, with_third{};
            for (int lane = 0; lane < N; ++lane) {
                const int e = part * N + lane, phase = e % kStep;
                from_first_two[lane] = phase == 2 ? 0 : phase * N + e / kStep;
                with_third[lane] = phase == 2 ? N + e / kStep : lane;
            }
            auto value = __builtin_shuffle(phases[0], phases[1], from_first_two);
            if constexpr (kStep == 3) value = __builtin_shuffle(value, phases[2], with_third);
            store<N>(target + part * N, value);
        }
    }

    // Neighbours in the same windows have the same value.
    void fill_runs(T* row) const {
        const AxisTable& columns = job_.columns;
        const S* sums = lines_[0] + lead_;
        for (int64_t begin = 0; begin < columns.in; begin = columns.run_end[begin]) {
            S sum = 0;
            for (int64_t o = columns.first[begin]; o < columns.last[begin]; ++o) sum += sums[o];
            fill(row + begin, sum, columns.run_end[begin] - begin);
        }
    }

    static void fill(T* target, S value, int64_t count) {
        Vector<S, N> all{};
        all += value;
        for (int64_t i = 0; i < count; i += N) store<N>(target + i, all);
    }

    const AveragePoolJob& job_;
    S* lines_[3];
    int64_t lead_, terms_;
};

// Where the first column of row h of plane (n, c) lies.
template <class T>
inline T* row_address(const View<4>& view, int64_t n, int64_t c, int64_t h) {
    return static_cast<T*>(view.data) + n * view.stride[0] + c * view.stride[1] + h * view.stride[2];
}

// Adjacent columns in the first cache; rows over n, c, h.
template <class T, bool kAdjacent>
inline void pool_planes(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    using S = Sum<T>;
    const AxisTable &rows = job.rows, &columns = job.columns;
    const int64_t channels = job.grad_input.size[1], stride = job.grad_output.stride[3];
    const auto* row_scale = static_cast<const S*>(rows.scale);
    const auto* column_scale = static_cast<const S*>(columns.scale);
    char* memory = static_cast<char*>(scratch);
    Columns<T> expansion(job, reinterpret_cast<S*>(memory), job.sum_bytes / sizeof(S));
    T* line = reinterpret_cast<T*>(memory + 3 * job.sum_bytes);
    Sink sink(memory + 3 * job.sum_bytes + job.row_bytes, job.sink_bytes, job.stream);

    const auto make_sums = [&](int64_t plane, int64_t h) {
        const int64_t first = rows.first[h], count = rows.last[h] - first;
        S* sums = expansion.sums();
        if (count == 0) return (void)__builtin_memset(sums, 0, columns.out * sizeof(S));
        const T* source = row_address<const T>(job.grad_output, plane / channels, plane % channels, first);
        for_lanes<S>(columns.out, [&](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            const auto sum = sum_rows<N, kAdjacent>(source + (kAdjacent ? i : i * stride), job.grad_output.stride[2], stride, count,
                                                    row_scale == nullptr ? nullptr : row_scale + first);
            store<N>(sums + i, sum * load<N>(column_scale + i) + S{0});
        });
    };
    const auto write = [&](T* target) {
        const int64_t step = job.grad_input.stride[3];
        if (step == 1) {
            copy_bytes(reinterpret_cast<char*>(sink.room(target, columns.in)), reinterpret_cast<const char*>(line), columns.in * sizeof(T));
        } else {
            for (int64_t w = 0; w < columns.in; ++w) target[w * step] = line[w];
        }
    };

    for (int64_t row = begin; row < end;) {
        const int64_t plane = row / rows.in, h = row % rows.in;
        const int64_t count = smaller(end - row, rows.run_end[h] - h);
        T* target = row_address<T>(job.grad_input, plane / channels, plane % channels, h);
        make_sums(plane, h);
        if (count == 1 && job.grad_input.stride[3] == 1) {
            expansion.expand(sink.room(target, columns.in));
        } else {
            expansion.expand(line);
            for (int64_t i = 0; i < count; ++i) write(target + i * job.grad_input.stride[2]);
        }
        row += count;
    }
}

inline void average_pool_planes(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) {
        using T = decltype(element);
        const auto run = job.grad_output.stride[3] == 1 ? pool_planes<T, true> : pool_planes<T, false>;
        run(job, begin, end, scratch);
    });
}

// Adjacent channels in memory; rows over n, h. Tiles of columns and channels keep their sums in the first cache.
template <class T>
inline void pool_channels(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    using S = Sum<T>;
    const AxisTable &rows = job.rows, &columns = job.columns;
    const View<4>&out = job.grad_output, &in = job.grad_input;
    const auto* row_scale = static_cast<const S*>(rows.scale);
    const auto* column_scale = static_cast<const S*>(columns.scale);
    S* sums = static_cast<S*>(scratch);
    Sink sink(static_cast<char*>(scratch) + job.sum_bytes, job.sink_bytes, job.stream);

    // The sums of the windows [first, last) of some channels, one line for each.
    const auto make_sums = [&](const T* plane, int64_t h, int64_t first, int64_t last, int64_t channels) {
        const int64_t first_row = rows.first[h], count = rows.last[h] - first_row;
        for (int64_t o = first; o < last; ++o) {
            S* line = sums + (o - first) * channels;
            if (count == 0) {
                __builtin_memset(line, 0, channels * sizeof(S));
                continue;
            }
            const T* source = plane + first_row * out.stride[2] + o * out.stride[3];
            for_lanes<S>(channels, [&](auto width, int64_t c) {
                constexpr int N = decltype(width)::value;
                const auto sum =
                    sum_rows<N, true>(source + c, out.stride[2], 1, count, row_scale == nullptr ? nullptr : row_scale + first_row);
                store<N>(line + c, sum * column_scale[o] + S{0});
            });
        }
    };
    const auto expand = [&](T* row, int64_t w_begin, int64_t w_end, int64_t channels) {
        const int64_t base = columns.first[w_begin];
        for (int64_t w = w_begin; w < w_end; ++w) {
            T* target = sink.room(row + w * in.stride[3], channels);
            const S* line = sums + (columns.first[w] - base) * channels;
            const int64_t count = columns.last[w] - columns.first[w];
            for_lanes<S>(channels, [&](auto width, int64_t c) {
                constexpr int N = decltype(width)::value;
                Vector<S, N> sum{};
                if (count > 0) sum = load<N>(line + c);
                for (int64_t o = 1; o < count; ++o) sum += load<N>(line + o * channels + c);
                store<N>(target + c, sum);
            });
        }
    };

    for (int64_t row = begin; row < end;) {
        const int64_t n = row / rows.in, h = row % rows.in;
        const int64_t count = smaller(end - row, rows.run_end[h] - h);
        for (int64_t c = 0; c < in.size[1]; c += job.tile_channels) {
            const int64_t channels = smaller(job.tile_channels, in.size[1] - c);
            for (int64_t w = 0, w_end; w < columns.in; w = w_end) {
                for (w_end = w + 1; w_end < columns.in && columns.last[w_end] - columns.first[w] <= job.tile_columns;) ++w_end;
                make_sums(row_address<const T>(out, n, c, 0), h, columns.first[w], columns.last[w_end - 1], channels);
                for (int64_t i = 0; i < count; ++i) expand(row_address<T>(in, n, c, h + i), w, w_end, channels);
            }
        }
        row += count;
    }
}

inline void average_pool_channels(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { pool_channels<decltype(element)>(job, begin, end, scratch); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
