// Average pooling backward of volumes in lanes. The sums over a window are separable: depth first, then rows, then columns. What lies in
// the same windows is the same: planes and rows are computed once and copied.
#include "kernels/separable/gather_sum.h"
#include "kernels/separable/jobs.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

template <class T>
class Volumes {
   public:
    using S = Sum<T>;

    Volumes(const VolumesJob& job, void* scratch)
        : job_(job),
          plane_(static_cast<S*>(scratch)),
          sums_(reinterpret_cast<S*>(static_cast<char*>(scratch) + job.plane_bytes)),
          result_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.plane_bytes + job.sum_bytes)),
          sink_(static_cast<char*>(scratch) + job.plane_bytes + job.sum_bytes + job.result_bytes, job.sink_bytes, job.stream) {}

    void run(int64_t begin, int64_t end) {
        const View<5>&in = job_.grad_input, &out = job_.grad_output;
        for (int64_t plane = begin; plane < end;) {
            const int64_t d = plane % in.size[2], c = plane / in.size[2] % in.size[1], n = plane / in.size[2] / in.size[1];
            const int64_t count = smaller(end - plane, job_.depth.run_end[d] - d);
            sum_planes(static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1], d);
            T* target = static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + d * in.stride[2];
            if (job_.keeps_plane)
                write_copies(target, count);
            else
                for (int64_t i = 0; i < count; ++i) write_plane(target + i * in.stride[2]);
            plane += count;
        }
    }

   private:
    // Computes the sums over the depth of the windows that hold plane d, for each row and column of windows.
    void sum_planes(const T* volume, int64_t d) {
        const View<5>& out = job_.grad_output;
        const int64_t first = job_.depth.first[d], count = job_.depth.last[d] - first;
        if (count == 0) return (void)__builtin_memset(plane_, 0, job_.rows.out * job_.columns.out * job_.inner * sizeof(S));
        const T* source = volume + first * out.stride[2];
        const int64_t row = job_.columns.out * job_.inner;
        const bool adjacent = out.stride[4] == job_.inner, dense = adjacent && out.stride[3] == row;
        const int64_t rows = dense ? 1 : job_.rows.out, length = dense ? job_.rows.out * row : row;
        for (int64_t i = 0; i < rows; ++i) {
            S* sums = plane_ + i * length;
            if (adjacent)
                sum_apart_scaled<true>(source + i * out.stride[3], count, first, length, sums);
            else
                sum_apart_scaled<false>(source + i * out.stride[3], count, first, length, sums);
        }
    }

    template <bool kAdjacent>
    void sum_apart_scaled(const T* source, int64_t count, int64_t first, int64_t length, S* sums) const {
        const S* scale = job_.depth.scale_from<S>(first);
        const int64_t distance = job_.grad_output.stride[2], stride = kAdjacent ? 1 : job_.grad_output.stride[4];
        for_lanes<S>(length, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(sums + i, sum_scaled<N, kAdjacent>(source + i * stride, distance, stride, count, scale));
        });
    }

    // Copies a plane to `count` places without gaps between them.
    void write_copies(T* target, int64_t count) {
        make_plane();
        const int64_t cells = job_.rows.in * width();
        for (int64_t i = 0; i < count; ++i) write_cells(target + i * job_.grad_input.stride[2], cells);
    }

    void make_plane() {
        if (job_.plane_stages[0].table.blocks == 0) return make_plane_of_rows();
        if constexpr (std::is_same_v<S, float>) {
            stage_sums(job_.plane_stages[0], plane_, sums_);
            stage_sums(job_.plane_stages[1], sums_, result_);
        }
    }

    // Makes the rows in ascending order: each overwrites what the one before it wrote behind its end.
    void make_plane_of_rows() {
        for (int64_t h = 0; h < job_.rows.in;) {
            T* const row = result_ + h * width();
            make_row(h, row);
            for (const int64_t first = h++; h < job_.rows.run_end[first]; ++h) copy_elements(result_ + h * width(), row, width());
        }
    }

    void write_plane(T* target) {
        const int64_t row_stride = job_.grad_input.stride[3];
        for (int64_t h = 0; h < job_.rows.in;) {
            make_row(h, result_);
            for (const int64_t end = job_.rows.run_end[h]; h < end; ++h) write_row(target + h * row_stride);
        }
    }

    void make_row(int64_t h, T* row) {
        const int64_t first = job_.rows.first[h], count = job_.rows.last[h] - first, windows = job_.columns.out * job_.inner;
        if (count == 0) return (void)__builtin_memset(row, 0, width() * sizeof(T));
        const S* source = plane_ + first * windows;
        const S* row_scale = job_.rows.scale_from<S>(first);
        const S* column_scale = job_.columns.scale_from<S>(0);
        S* sums = sums_;
        if (job_.inner > 1 && job_.column_sums.blocks == 0) return make_row_of_cells(source, count, row_scale, row);
        for_lanes<S>(windows, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(sums + i, sum_scaled<N, true>(source + i, windows, 1, count, row_scale) * load<N>(column_scale + i) + S{0});
        });
        if constexpr (std::is_same_v<S, float>)
            if (job_.column_sums.blocks > 0) return gather_sums(sums_, job_.column_sums, row);
        for (int64_t begin = 0; begin < job_.columns.in; begin = job_.columns.run_end[begin]) fill_run(begin, row);
    }

    // Neighbours in the same windows have the same value. Whole vectors are written; the next run overwrites what lies behind.
    void fill_run(int64_t begin, T* row) const {
        constexpr int N = kLanes<S>;
        S sum = 0;
        for (int64_t o = job_.columns.first[begin]; o < job_.columns.last[begin]; ++o) sum += sums_[o];
        const Vector<S, N> all = Vector<S, N>{} + sum;
        for (int64_t i = begin; i < job_.columns.run_end[begin]; i += N) store<N>(row + i, all);
    }

    // Makes a row of cells of several numbers.
    void make_row_of_cells(const S* source, int64_t count, const S* row_scale, T* row) {
        const int64_t windows = job_.columns.out, inner = job_.inner;
        for (int64_t o = 0; o < windows; ++o) {
            const S* cell = source + o * inner;
            S* sums = sums_ + o * inner;
            const S scale = static_cast<const S*>(job_.columns.scale)[o];
            for_lanes<S>(inner, [=](auto width, int64_t i) {
                constexpr int N = decltype(width)::value;
                store<N>(sums + i, sum_scaled<N, true>(cell + i, windows * inner, 1, count, row_scale) * scale + S{0});
            });
        }
        for (int64_t begin = 0; begin < job_.columns.in; begin = job_.columns.run_end[begin]) fill_run_of_cells(begin, row);
    }

    void fill_run_of_cells(int64_t begin, T* row) const {
        const int64_t inner = job_.inner, first = job_.columns.first[begin], count = job_.columns.last[begin] - first;
        const S* sums = sums_ + first * inner;
        T* target = row + begin * inner;
        if (count == 0) return (void)__builtin_memset(target, 0, (job_.columns.run_end[begin] - begin) * inner * sizeof(T));
        for_lanes<S>(inner, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(target + i, sum_apart<N>(sums + i, inner, count));
        });
        for (int64_t w = begin + 1; w < job_.columns.run_end[begin]; ++w) copy_elements(row + w * inner, target, inner);
    }

    void write_row(T* target) {
        const int64_t step = job_.grad_input.stride[4];
        if (step == job_.inner) return write_cells(target, width());
        for (int64_t w = 0; w < width(); ++w) target[w * step] = result_[w];
    }

    void write_cells(T* target, int64_t count) { copy_elements(sink_.room(target, count), result_, count); }

    int64_t width() const { return job_.columns.in * job_.inner; }

    const VolumesJob& job_;
    S* plane_;
    S* sums_;
    T* result_;
    Sink sink_;
};

}  // namespace

void volumes(const VolumesJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { Volumes<decltype(element)>(job, scratch).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
