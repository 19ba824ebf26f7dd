#include "kernels/average_pool/small.h"

#include <algorithm>
#include <array>

namespace torch_aclnn::kernels {
namespace {

constexpr int64_t kCellsOfOverlapping = 512, kCellsOfChannels = 8192, kMaxWindows = 64;

// The divisor that all windows have, or 0.
int64_t common_divisor(const PoolingAxis& axis) {
    for (int64_t o = 1; o < axis.out; ++o)
        if (axis.divisor(o) != axis.divisor(0)) return 0;
    return axis.out == 0 ? 1 : axis.divisor(0);
}

bool overlaps(const PoolingAxis& axis) {
    return axis.kernel > axis.step;
}

// How many channels are adjacent, in both tensors.
int64_t adjacent_channels(const View<4>& grad_output, const View<4>& grad_input) {
    return grad_output.stride[1] == 1 && channels_innermost(grad_input) ? grad_input.size[1] : 1;
}

// The scales are the reciprocals that window_scales() makes, so that a small tensor has the bits of a large one.
template <class T>
class SmallPlanes {
   public:
    using S = typename Accumulator<T>::type;

    SmallPlanes(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows, const PoolingAxis& columns)
        : out_(grad_output),
          in_(grad_input),
          rows_(rows),
          columns_(columns),
          overlap_(overlaps(rows) || overlaps(columns)),
          inner_(overlap_ ? 1 : adjacent_channels(grad_output, grad_input)),
          common_(common_divisor(rows)) {
        const double of_rows = common_ == 0 ? 1 : static_cast<double>(common_);
        for (int64_t o = 0; o < columns.out; ++o)
            windows_[o] = {columns.begin(o), columns.end(o), static_cast<S>(1 / (of_rows * static_cast<double>(columns.divisor(o))))};
    }

    void run() const {
        for (int64_t n = 0; n < in_.size[0]; ++n)
            for (int64_t c = 0; c < in_.size[1]; c += inner_) {
                const T* const source = static_cast<const T*>(out_.data) + n * out_.stride[0] + c * out_.stride[1];
                T* const target = static_cast<T*>(in_.data) + n * in_.stride[0] + c * in_.stride[1];
                overlap_ ? add_windows(source, target) : fill_windows(source, target);
            }
    }

   private:
    struct Columns {
        int64_t begin, end;
        S scale;
    };

    // Of windows that share no cell: each one's cells are filled with one value.
    void fill_windows(const T* source, T* target) const {
        int64_t h = 0;
        for (int64_t o = 0; o < rows_.out; ++o, source += out_.stride[2]) {
            for (; h < rows_.begin(o); ++h) clear(target + h * in_.stride[2], 0, columns_.in);
            const int64_t end = rows_.end(o);
            if (h == end) continue;
            T* const first = target + h * in_.stride[2];
            fill_row(source, row_scale(o), first);
            for (++h; h < end; ++h) copy(first, target + h * in_.stride[2]);
        }
        for (; h < rows_.in; ++h) clear(target + h * in_.stride[2], 0, columns_.in);
    }

    void fill_row(const T* source, S row_scale, T* row) const {
        T cell[kCellsOfChannels];
        int64_t w = 0;
        for (int64_t o = 0; o < columns_.out; ++o, source += out_.stride[3]) {
            clear(row, w, windows_[o].begin);
            // Adding zero makes -0 a 0, as a sum does.
            for (int64_t i = 0; i < inner_; ++i) cell[i] = static_cast<T>(static_cast<S>(source[i]) * row_scale * windows_[o].scale + S{0});
            fill(row, windows_[o].begin, windows_[o].end, cell);
            w = windows_[o].end;
        }
        clear(row, w, columns_.in);
    }

    S row_scale(int64_t o) const { return common_ == 0 ? static_cast<S>(1 / static_cast<double>(rows_.divisor(o))) : 1; }

    // Of any windows. Rows in the same ones are made once.
    void add_windows(const T* source, T* target) const {
        S scales[kMaxWindows];
        for (int64_t o = 0; o < rows_.out; ++o) scales[o] = row_scale(o);
        for (int64_t h = 0, first = 0, last = 0; h < rows_.in; ++h) {
            const int64_t first_before = first, last_before = last;
            while (first < rows_.out && rows_.end(first) <= h) ++first;
            while (last < rows_.out && rows_.begin(last) <= h) ++last;
            T* const row = target + h * in_.stride[2];
            if (h > 0 && first == first_before && last == last_before)
                copy(row - in_.stride[2], row);
            else
                add_row(source, scales, first, last, row);
        }
    }

    // In the order of the sums of larger tensors: rows, then columns.
    void add_row(const T* source, const S* scales, int64_t first, int64_t last, T* row) const {
        S sums[kCellsOfOverlapping];
        std::fill_n(sums, columns_.in, S{0});
        for (int64_t o = 0; o < columns_.out; ++o) {
            S sum = 0;
            for (int64_t i = first; i < last; ++i) sum += static_cast<S>(source[i * out_.stride[2] + o * out_.stride[3]]) * scales[i];
            const S value = sum * windows_[o].scale + S{0};
            for (int64_t w = windows_[o].begin; w < windows_[o].end; ++w) sums[w] += value;
        }
        for (int64_t w = 0; w < columns_.in; ++w) row[w * in_.stride[3]] = static_cast<T>(sums[w]);
    }

    void fill(T* row, int64_t begin, int64_t end, const T* cell) const {
        if (in_.stride[3] == 1) return (void)std::fill(row + begin, row + std::max(begin, end), *cell);
        for (int64_t w = begin; w < end; ++w) std::copy_n(cell, inner_, row + w * in_.stride[3]);
    }

    void clear(T* row, int64_t begin, int64_t end) const {
        if (in_.stride[3] == inner_) return (void)std::fill(row + begin * inner_, row + std::max(begin, end) * inner_, T{});
        for (int64_t w = begin; w < end; ++w) std::fill_n(row + w * in_.stride[3], inner_, T{});
    }

    void copy(const T* from, T* to) const {
        if (in_.stride[3] == inner_) return (void)std::copy_n(from, columns_.in * inner_, to);
        for (int64_t w = 0; w < columns_.in; ++w) std::copy_n(from + w * in_.stride[3], inner_, to + w * in_.stride[3]);
    }

    const View<4>&out_, &in_;
    const PoolingAxis &rows_, &columns_;
    const bool overlap_;    // a cell may lie in several windows
    const int64_t inner_;   // how many adjacent channels make a cell
    const int64_t common_;  // of the rows
    std::array<Columns, kMaxWindows> windows_;
};

// The largest tensors that take less time without tables; 0: none does.
int64_t max_cells(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows, const PoolingAxis& columns) {
    constexpr int64_t kCells = 2048, kCellsOfWideWindows = 16384, kCellsOfLongSteps = 6144, kCellsOfShortSteps = 512;
    constexpr int64_t kWideWindow = 16;  // whose cells a loop fills several at a time
    constexpr int64_t kShortStep = 2;    // for which there are loops that write rows well
    constexpr int64_t kLongStep = 4;
    const bool has_rows = grad_input.stride[3] == 1, has_short_step = columns.step <= kShortStep;
    if (overlaps(rows) || overlaps(columns)) {
        const bool suits = has_rows && grad_input.dtype == DType::float32 && rows.out <= kMaxWindows && !has_short_step;
        return suits ? kCellsOfOverlapping : 0;
    }
    // The loops convert float16 in lanes.
    if (adjacent_channels(grad_output, grad_input) > 1 && grad_input.dtype != DType::float16) return kCellsOfChannels;
    if (!has_rows) return kCells;
    if (columns.kernel >= kWideWindow) return kCellsOfWideWindows;
    return columns.step >= kLongStep ? kCellsOfLongSteps : has_short_step ? kCellsOfShortSteps : kCells;
}

}  // namespace

bool suits_small(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows, const PoolingAxis& columns) {
    if (rows.step <= 0 || columns.step <= 0 || columns.out > kMaxWindows) return false;
    const int64_t limit = max_cells(grad_output, grad_input, rows, columns);
    int64_t cells = 1;
    for (const int64_t size : grad_input.size) {
        if (size > limit) return false;
        cells *= size;
    }
    return cells <= limit;
}

void average_pool_backward_small(const View<4>& grad_output, const View<4>& grad_input, const PoolingAxis& rows,
                                 const PoolingAxis& columns) {
    visit_floating(grad_input.dtype,
                   [&](auto tag) { SmallPlanes<typename decltype(tag)::type>(grad_output, grad_input, rows, columns).run(); });
}

}  // namespace torch_aclnn::kernels
