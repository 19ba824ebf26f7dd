// Padding backward. Inner rows are copies with sums at either end; only the rows near a border are sums of rows.
#include "kernels/separable/gather_sum.h"
#include "kernels/separable/jobs.h"
#include "kernels/simd/line_stream.h"
#include "kernels/simd/planes.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

// Cells of job.inner adjacent real numbers: one, two for complex numbers, or all channels of channels-last tensors.
template <class T>
class PaddedRows {
   public:
    using S = Sum<T>;

    PaddedRows(const RowsJob& job, void* scratch)
        : job_(job),
          sums_(static_cast<S*>(scratch)),
          packed_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.sum_bytes)),
          row_(reinterpret_cast<T*>(static_cast<char*>(scratch) + job.sum_bytes + job.row_bytes)),
          sink_(static_cast<char*>(scratch) + job.sum_bytes + 2 * job.row_bytes, job.sink_bytes, job.stream) {}

    void run(int64_t begin, int64_t end) {
        const int64_t height = job_.grad_input.size[3];
        for_planes<T>(job_.grad_output, job_.grad_input, height, begin, end,
                      [&](const T* source, T* target, int64_t d, int64_t h, int64_t h_end) {
                          for (int64_t row = d * height + h; h < h_end; ++h, ++row) {
                              target_ = target + h * job_.grad_input.stride[3];
                              if (job_.prefetch && h + 1 < h_end) prefetch_row_starts(source, row + 1);
                              fill(source, row);
                              if (is_scattered_) scatter();
                          }
                      });
    }

   private:
    // Longer rows and wider cells are summed by functions of their own; small maps have one function for everything.
    static constexpr int64_t kLongRow = 512, kWideCell = 4 * kLanes<S>;
    static constexpr int64_t kAheadBytes = 512;
    static constexpr std::integral_constant<int64_t, 1> kOne{};  // the step between offsets that count numbers

    // Returns where `count` elements from element i of the row on are put.
    T* room(int64_t i, int64_t count) { return is_scattered_ ? row_ + i : sink_.exact_room(target_ + i, count); }

    void fill(const T* plane, int64_t h) {
        const int64_t count = job_.rows.terms(h);
        const int64_t* rows = job_.row_offsets + job_.rows.first[h];
        if (count == 1 && !job_.widens) return fill_columns(adjacent_row(plane + rows[0]));
        const int64_t size = job_.columns.out * job_.inner;
        if (count == 0)
            __builtin_memset(sums_, 0, size * sizeof(S));
        else if (job_.grad_output.stride[4] == job_.inner)
            add_rows(plane, rows, count);
        else
            for (int64_t row = 0; row < count; ++row) add_row(adjacent_row(plane + rows[row]), row == 0);
        fill_columns(static_cast<const S*>(sums_));
    }

    // Prefetches the starts of rows; the rest of a row is prefetched as it is read.
    void prefetch_row_starts(const T* plane, int64_t h) const {
        for (int64_t k = job_.rows.first[h]; k < job_.rows.last[h]; ++k) prefetch_bytes(plane + job_.row_offsets[k], kAheadBytes);
    }

    void add_rows(const T* plane, const int64_t* rows, int64_t count) {
        const int64_t size = job_.columns.out * job_.inner;
        if (size >= kLongRow) return add_long_rows(plane, rows, count);
        for_lanes<S>(size, [=, sums = sums_](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(sums + i, sum_at<N>(plane + i, kOne, rows, count));
        });
    }

    __attribute__((noinline)) void add_long_rows(const T* plane, const int64_t* rows, int64_t count) {
        constexpr int64_t kAhead = kAheadBytes / sizeof(T), kPart = 128 / sizeof(T);
        const int64_t size = job_.columns.out * job_.inner, part = job_.prefetch ? kPart : size;
        visit_sum_at(kOne, rows, count, [&](const auto& sum) {
            for (int64_t begin = 0; begin < size; begin += part) {
                // The hardware prefetches within one page of memory only.
                for (int64_t k = 0; job_.prefetch && k < count; ++k) prefetch_bytes(plane + begin + kAhead + rows[k], kPart * sizeof(T));
                for_lanes<S>(smaller(part, size - begin), [=, source = plane + begin, sums = sums_ + begin](auto width, int64_t i) {
                    store<decltype(width)::value>(sums + i, sum(width, source + i));
                });
            }
        });
    }

    // Works lane by lane, because it reads what it writes.
    void add_row(const T* source, bool is_first) {
        for (int64_t i = 0; i < job_.columns.out * job_.inner; ++i) {
            const auto value = load<1>(source + i);
            store<1>(sums_ + i, is_first ? value : load<1>(sums_ + i) + value);
        }
    }

    // `Source` is T for a row as it is, or S for sums of rows.
    template <class Source>
    void fill_columns(const Source* source) {
        const int64_t inner = job_.inner, size = job_.columns.in * inner;
        if constexpr (std::is_same_v<S, float>)
            if (job_.column_sums.blocks > 0) return gather_sums(source, job_.column_sums, is_scattered_ ? row_ : sink_.room(target_, size));
        if (streams_cells_) return stream_cells(source);
        T* whole_row = size <= RowsJob::kBlock ? room(0, size) : nullptr;
        const auto place = [&](int64_t i, int64_t count) { return whole_row != nullptr ? whole_row + i : room(i, count); };
        for (int64_t w = 0; w < copy_begin_; ++w) add_column(place(w * inner, inner), source, w);
        const Source* shifted = source + copy_shift_;
        for_copied_blocks(shifted, [&](int64_t i, int64_t count) { copy(place(i, count), shifted + i, count); });
        for (int64_t w = copy_end_; w < job_.columns.in; ++w) add_column(place(w * inner, inner), source, w);
    }

    // Does the same, and writes around the caches. One loop for both would take longer for small maps.
    template <class Source>
    void stream_cells(const Source* source) {
        for (int64_t w = 0; w < copy_begin_; ++w) stream_column(source, w);
        const Source* shifted = source + copy_shift_;
        for_copied_blocks(shifted, [&](int64_t i, int64_t count) {
            if constexpr (std::is_same_v<Source, T>)
                stream_.copy(target_ + i, shifted + i, count);
            else
                stream(i, count, [=](auto width, int64_t k) { return load<decltype(width)::value>(shifted + i + k); });
        });
        for (int64_t w = copy_end_; w < job_.columns.in; ++w) stream_column(source, w);
    }

    void stream_column(const auto* source, int64_t w) {
        const int64_t inner = job_.inner, count = column_last_[w] - column_first_[w];
        const int64_t* columns = column_source_ + column_first_[w];
        if (count == 0) return stream(w * inner, inner, [](auto width, int64_t) { return Vector<S, decltype(width)::value>{}; });
        visit_sum_at(inner, columns, count,
                     [&](const auto& sum) { stream(w * inner, inner, [=](auto width, int64_t i) { return sum(width, source + i); }); });
    }

    // Writes the elements from i on; value(width, k) gives those from k on.
    void stream(int64_t i, int64_t count, const auto& value) { stream_.template write<kLanes<S>>(target_ + i, count, value); }

    // Calls body(i, count) for blocks of the elements that are copied, from `shifted` on.
    template <class Source, class Body>
    void for_copied_blocks(const Source* shifted, const Body& body) const {
        const int64_t end = copy_end_ * job_.inner;
        for (int64_t i = copy_begin_ * job_.inner; i < end; i += RowsJob::kBlock) {
            if (std::is_same_v<Source, T> && job_.prefetch) prefetch_bytes(shifted + i + RowsJob::kBlock, RowsJob::kBlock * sizeof(Source));
            body(i, smaller(RowsJob::kBlock, end - i));
        }
    }

    void add_column(T* target, const auto* source, int64_t w) const {
        const int64_t inner = job_.inner, count = column_last_[w] - column_first_[w];
        const int64_t* columns = column_source_ + column_first_[w];
        if (count == 0) return (void)__builtin_memset(target, 0, inner * sizeof(T));
        if (inner == 1) return store<1>(target, sum_at<1>(source, kOne, columns, count));
        if (inner >= kWideCell) return add_wide_column(target, source, columns, count);
        for_lanes<S>(inner, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(target + i, sum_at<N>(source + i, inner, columns, count));
        });
    }

    template <class Source>
    __attribute__((noinline)) void add_wide_column(T* target, const Source* source, const int64_t* columns, int64_t count) const {
        const int64_t inner = job_.inner;
        visit_sum_at(inner, columns, count, [&](const auto& sum) {
            for_lanes<S>(inner, [=](auto width, int64_t i) { store<decltype(width)::value>(target + i, sum(width, source + i)); });
        });
    }

    static void copy(T* target, const T* source, int64_t count) { copy_elements(target, source, count); }
    static void copy(T* target, const auto* source, int64_t count) {
        for_lanes<S>(count, [=](auto width, int64_t i) {
            constexpr int N = decltype(width)::value;
            store<N>(target + i, load<N>(source + i));
        });
    }

    // The row itself if its cells are adjacent, else a copy.
    const T* adjacent_row(const T* source) {
        const int64_t stride = job_.grad_output.stride[4], inner = job_.inner;
        if (stride == inner) return source;
        for (int64_t o = 0; o < job_.columns.out; ++o)
            for (int64_t i = 0; i < inner; ++i) packed_[o * inner + i] = source[o * stride + i];
        return packed_;
    }

    void scatter() const {
        const int64_t stride = job_.grad_input.stride[4], inner = job_.inner;
        for (int64_t w = 0; w < job_.columns.in; ++w)
            for (int64_t i = 0; i < inner; ++i) target_[w * stride + i] = row_[w * inner + i];
    }

    const RowsJob& job_;
    S* sums_;
    T* packed_;
    T* row_;
    Sink sink_;
    LineStream stream_;
    T* target_ = nullptr;
    const bool is_scattered_ = job_.grad_input.stride[4] != job_.inner;
    // With single numbers each border would be a piece of its own, which takes longer than collecting the row.
    const bool streams_cells_ = job_.stream && job_.inner > 1 && !is_scattered_;
    const int64_t* const column_first_ = job_.columns.first;
    const int64_t* const column_last_ = job_.columns.last;
    const int64_t* const column_source_ = job_.columns.source;
    const int64_t copy_begin_ = job_.copy_begin, copy_end_ = job_.copy_end;
    const int64_t copy_shift_ = copy_begin_ < copy_end_ ? (column_source_[column_first_[copy_begin_]] - copy_begin_) * job_.inner : 0;
};

}  // namespace

void padded_rows(const RowsJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { PaddedRows<decltype(element)>(job, scratch).run(begin, end); });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
