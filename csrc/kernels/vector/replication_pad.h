// Replication padding backward. Inner rows are copies with a sum at either end; only the border rows are sums of rows.
#pragma once

#include "kernels/vector/planes.h"
#include "kernels/vector/sink.h"
#include "kernels/vector/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Cells of job.inner adjacent real numbers: one, two for complex numbers, or all channels of channels-last tensors.
template <class T>
class PaddedRows {
   public:
    using S = Sum<T>;

    PaddedRows(const ReplicationPadJob& job, void* scratch)
        : job_(job),
          sums_(static_cast<S*>(scratch)),
          packed_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.sum_bytes)),
          row_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.sum_bytes + job.row_bytes)),
          sink_(static_cast<char*>(scratch) + job.sum_bytes + 2 * job.row_bytes, job.sink_bytes, job.stream) {
        // The columns that take one window each, all in a row, are copied as a block.
        const AxisTable& columns = job.columns;
        while (copy_begin_ < columns.in && columns.last[copy_begin_] - columns.first[copy_begin_] != 1) ++copy_begin_;
        copy_end_ = copy_begin_;
        while (copy_end_ < columns.in && columns.last[copy_end_] - columns.first[copy_end_] == 1) ++copy_end_;
    }

    void run(int64_t begin, int64_t end) {
        const bool scattered = job_.grad_input.stride[3] != job_.inner;
        for_planes<T>(job_, begin, end, [&](const T* source, T* target, int64_t h, int64_t h_end) {
            for (; h < h_end; ++h) {
                target_ = target + h * job_.grad_input.stride[2];
                fill(source, h);
                if (scattered) scatter();
            }
        });
    }

   private:
    // Where `count` elements from element i of the row on are put.
    T* room(int64_t i, int64_t count) { return job_.grad_input.stride[3] == job_.inner ? sink_.room(target_ + i, count) : row_ + i; }

    void fill(const T* plane, int64_t h) {
        const int64_t row_stride = job_.grad_output.stride[2], first = job_.rows.first[h], count = job_.rows.last[h] - first;
        const T* source = plane + first * row_stride;
        if (count == 1) return fill_columns(adjacent_row(source));
        const int64_t size = job_.columns.out * job_.inner;
        if (count == 0)
            __builtin_memset(sums_, 0, size * sizeof(S));
        else if (job_.grad_output.stride[3] == job_.inner)
            add_rows(source, row_stride, count);
        else
            for (int64_t row = 0; row < count; ++row) add_row(adjacent_row(source + row * row_stride), row == 0);
        fill_columns(static_cast<const S*>(sums_));
    }

    void add_rows(const T* source, int64_t row_stride, int64_t count) {
        S* sums = sums_;
        for_lanes<S>(job_.columns.out * job_.inner, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(sums + i, sum_apart<N>(source + i, row_stride, count));
        });
    }

    // Lane by lane, because it reads what it writes.
    void add_row(const T* source, bool is_first) {
        for (int64_t i = 0; i < job_.columns.out * job_.inner; ++i) {
            const auto value = load<1>(source + i);
            store<1>(sums_ + i, is_first ? value : load<1>(sums_ + i) + value);
        }
    }

    // `Source` is T for a row as it is, or S for sums of rows.
    template <class Source>
    void fill_columns(const Source* source) {
        const int64_t inner = job_.inner, size = job_.columns.in * inner, end = copy_end_ * inner;
        T* whole_row = size <= ReplicationPadJob::kBlock ? room(0, size) : nullptr;
        const auto place = [&](int64_t i, int64_t count) { return whole_row != nullptr ? whole_row + i : room(i, count); };
        for (int64_t w = 0; w < copy_begin_; ++w) add_columns(place(w * inner, inner), source, w);
        const Source* shifted = copy_begin_ < copy_end_ ? source + (job_.columns.first[copy_begin_] - copy_begin_) * inner : nullptr;
        for (int64_t i = copy_begin_ * inner; i < end; i += ReplicationPadJob::kBlock) {
            const int64_t count = smaller(ReplicationPadJob::kBlock, end - i);
            copy(place(i, count), shifted + i, count);
        }
        for (int64_t w = copy_end_; w < job_.columns.in; ++w) add_columns(place(w * inner, inner), source, w);
    }

    template <class Source>
    void add_columns(T* target, const Source* source, int64_t w) const {
        const int64_t first = job_.columns.first[w], last = job_.columns.last[w], inner = job_.inner;
        for_lanes<S>(inner, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(target + i, first < last ? sum_apart<N>(source + first * inner + i, inner, last - first) : Vector<S, N>{});
        });
    }

    static void copy(T* target, const T* source, int64_t count) {
        copy_bytes(reinterpret_cast<char*>(target), reinterpret_cast<const char*>(source), count * sizeof(T));
    }
    template <class Source>
    static void copy(T* target, const Source* source, int64_t count) {
        for_lanes<S>(count, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(target + i, load<N>(source + i));
        });
    }

    // The row itself if its cells are adjacent, else a copy.
    const T* adjacent_row(const T* source) {
        const int64_t stride = job_.grad_output.stride[3], inner = job_.inner;
        if (stride == inner) return source;
        for (int64_t o = 0; o < job_.columns.out; ++o)
            for (int64_t i = 0; i < inner; ++i) packed_[o * inner + i] = source[o * stride + i];
        return packed_;
    }

    void scatter() const {
        const int64_t stride = job_.grad_input.stride[3], inner = job_.inner;
        for (int64_t w = 0; w < job_.columns.in; ++w)
            for (int64_t i = 0; i < inner; ++i) target_[w * stride + i] = row_[w * inner + i];
    }

    const ReplicationPadJob& job_;
    S* sums_;
    T* packed_;
    T* row_;
    Sink sink_;
    T* target_ = nullptr;
    int64_t copy_begin_ = 0, copy_end_ = 0;
};

inline void replication_pad(const ReplicationPadJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { PaddedRows<decltype(element)>(job, scratch).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
