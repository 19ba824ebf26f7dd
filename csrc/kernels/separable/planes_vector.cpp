// Average pooling backward for tensors whose columns are adjacent, or nothing is. The sums over a window are separable: rows first.
#include "kernels/separable/columns.h"
#include "kernels/simd/planes.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

template <class T>
class AveragePlanes {
   public:
    using S = Sum<T>;

    AveragePlanes(const PlanesJob& job, void* scratch)
        : job_(job),
          memory_(static_cast<char*>(scratch)),
          columns_(job),
          sums_(reinterpret_cast<S*>(memory_) + kSlack / sizeof(S)),
          row_(reinterpret_cast<T*>(memory_ + job.sum_bytes)),
          sink_(memory_ + job.sum_bytes + job.row_bytes, job.sink_bytes, job.stream) {
        __builtin_memset(memory_, 0, job.sum_bytes);
    }

    void run(int64_t begin, int64_t end) {
        for_planes<T>(job_.grad_output, job_.grad_input, job_.rows.in, begin, end,
                      [&](const T* source, T* target, int64_t, int64_t h, int64_t h_end) { fill_plane(source, target, h, h_end); });
    }

   private:
    static constexpr int kMaxLines = PlanesJob::kMaxLines;

    struct Run {
        int64_t h, rows;
        const S* sums;
    };

    // Computes all sums of a few runs of rows before the first is used, because a load has to wait for a store that it overlaps.
    void fill_plane(const T* source, T* target, int64_t h, int64_t h_end) {
        while (h < h_end) {
            Run runs[kMaxLines];
            int64_t count = 0;
            for (; h < h_end && count < job_.lines; ++count) {
                const int64_t rows = smaller(h_end, job_.rows.run_end[h]) - h;
                S* const line = sums_ + count * job_.line_size;
                sum_rows(source, h, line);
                runs[count] = {h, rows, line};
                h += rows;
            }
            for (int64_t i = 0; i < count; ++i) write_rows(target + runs[i].h * job_.grad_input.stride[3], runs[i].rows, runs[i].sums);
        }
    }

    // Computes the scaled sums over the rows of the windows that hold row h, one for each column of windows.
    void sum_rows(const T* source, int64_t h, S* line) {
        const int64_t first = job_.rows.first[h], count = job_.rows.last[h] - first;
        source += first * job_.grad_output.stride[3];
        if (count == 0)
            __builtin_memset(line, 0, job_.columns.out * sizeof(S));
        else if (job_.grad_output.stride[4] != 1)
            add_scaled_rows<false>(source, count, first, line);
        else if (job_.rows.scale != nullptr)
            add_scaled_rows<true>(source, count, first, line);
        else
            visit_count(count, [&](auto known) { add_rows(source, known, line); });
    }

    void add_rows(const T* source, auto count, S* line) const {
        const auto* column_scale = static_cast<const S*>(job_.columns.scale);
        const int64_t row_stride = job_.grad_output.stride[3];
        for_lanes<S>(job_.columns.out, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(line + i, sum_apart<N>(source + i, row_stride, count) * load<N>(column_scale + i) + S{0});
        });
    }

    template <bool kAdjacent>
    void add_scaled_rows(const T* source, int64_t count, int64_t first, S* line) const {
        const auto* column_scale = static_cast<const S*>(job_.columns.scale);
        const auto* row_scale = job_.rows.scale == nullptr ? nullptr : static_cast<const S*>(job_.rows.scale) + first;
        const int64_t row_stride = job_.grad_output.stride[3], stride = job_.grad_output.stride[4];
        for_lanes<S>(job_.columns.out, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            const auto sum = sum_scaled<N, kAdjacent>(source + i * stride, row_stride, stride, count, row_scale);
            store<N>(line + i, sum * load<N>(column_scale + i) + S{0});
        });
    }

    // Writes `count` rows that are alike.
    void write_rows(T* target, int64_t count, const S* sums) {
        const int64_t width = job_.columns.in, step = job_.grad_input.stride[4], row_stride = job_.grad_input.stride[3];
        if (step != 1) return scatter_rows(target, count, sums);
        const int64_t limit = row_stride == width ? job_.rows_per_piece : 1;
        for (int64_t rows; count > 0; count -= rows, target += rows * row_stride) {
            rows = smaller(count, limit);
            T* place = sink_.room(target, rows * width);
            columns_.expand(sums, place);
            repeat(place, width, rows * width);
        }
    }

    // Copies the first row of `width` elements behind itself until there are `count` elements. A copy may write beyond its row's end, and
    // the next copy overwrites that.
    static void repeat(T* row, int64_t width, int64_t count) {
        constexpr int64_t N = kVectorBytes / sizeof(T);
        using Block = Vector<unsigned char, kVectorBytes>;
        for (int64_t begin = width; begin < count; begin += width)
            for (int64_t i = 0; i < width; i += N) store_bytes(row + begin + i, load_bytes<Block>(row + i));
    }

    void scatter_rows(T* target, int64_t count, const S* sums) {
        columns_.expand(sums, row_);
        for (; count > 0; --count, target += job_.grad_input.stride[3])
            for (int64_t w = 0; w < job_.columns.in; ++w) target[w * job_.grad_input.stride[4]] = row_[w];
    }

    const PlanesJob& job_;
    char* memory_;
    PoolColumns<T> columns_;
    S* sums_;
    T* row_;
    Sink sink_;
};

void average_planes(const PlanesJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { AveragePlanes<decltype(element)>(job, scratch).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
