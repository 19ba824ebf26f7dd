// Average pooling backward of small tensors, window by window. A compiler's own vectors do, so it is compiled once.
#include <algorithm>
#include <array>

#include "kernels/separable/strategies.h"
#include "kernels/separable/thresholds.h"

namespace torch_aclnn::kernels {
namespace {

using namespace thresholds;

constexpr int64_t kMaxSmallWindows = 64;  // of an axis

// The divisor that all windows have, or 0.
int64_t common_divisor(const AxisSpec& axis) {
    for (int64_t o = 1; o < axis.out; ++o)
        if (axis.divisor(o) != axis.divisor(0)) return 0;
    return axis.out == 0 ? 1 : axis.divisor(0);
}

// How many channels are adjacent, in both tensors.
int64_t adjacent_channels(const Problem& problem) {
    return has_adjacent_channels(problem) ? problem.target.size[1] : 1;
}

// The scales are the reciprocals that window_scales() makes, so that a small tensor has the bits of a large one.
template <class T>
class SmallPlanes {
   public:
    using S = typename Accumulator<T>::type;

    explicit SmallPlanes(const Problem& problem)
        : out_(problem.source),
          in_(problem.target),
          rows_(problem.spec(1)),
          columns_(problem.spec(2)),
          overlap_(rows_.overlaps() || columns_.overlaps()),
          inner_(overlap_ ? 1 : adjacent_channels(problem)),
          common_(common_divisor(rows_)) {
        const double of_rows = common_ == 0 ? 1 : static_cast<double>(common_);
        for (int64_t o = 0; o < columns_.out; ++o)
            windows_[o] = {columns_.begin(o), columns_.end(o), static_cast<S>(1 / (of_rows * static_cast<double>(columns_.divisor(o))))};
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
        for (int64_t o = 0; o < rows_.out; ++o, source += out_.stride[3]) {
            for (; h < rows_.begin(o); ++h) clear(target + h * in_.stride[3], 0, columns_.in);
            const int64_t end = rows_.end(o);
            if (h == end) continue;
            T* const first = target + h * in_.stride[3];
            fill_row(source, row_scale(o), first);
            for (++h; h < end; ++h) copy(first, target + h * in_.stride[3]);
        }
        for (; h < rows_.in; ++h) clear(target + h * in_.stride[3], 0, columns_.in);
    }

    void fill_row(const T* source, S row_scale, T* row) const {
        T cell[kSmallCellsOfChannels];
        int64_t w = 0;
        for (int64_t o = 0; o < columns_.out; ++o, source += out_.stride[4]) {
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
        S scales[kMaxSmallWindows];
        for (int64_t o = 0; o < rows_.out; ++o) scales[o] = row_scale(o);
        for (int64_t h = 0, first = 0, last = 0; h < rows_.in; ++h) {
            const int64_t first_before = first, last_before = last;
            while (first < rows_.out && rows_.end(first) <= h) ++first;
            while (last < rows_.out && rows_.begin(last) <= h) ++last;
            T* const row = target + h * in_.stride[3];
            if (h > 0 && first == first_before && last == last_before)
                copy(row - in_.stride[3], row);
            else
                add_row(source, scales, first, last, row);
        }
    }

    // In the order of the sums of larger tensors: rows, then columns.
    void add_row(const T* source, const S* scales, int64_t first, int64_t last, T* row) const {
        S sums[kSmallCellsOfOverlapping];
        std::fill_n(sums, columns_.in, S{0});
        for (int64_t o = 0; o < columns_.out; ++o) {
            S sum = 0;
            for (int64_t i = first; i < last; ++i) sum += static_cast<S>(source[i * out_.stride[3] + o * out_.stride[4]]) * scales[i];
            const S value = sum * windows_[o].scale + S{0};
            for (int64_t w = windows_[o].begin; w < windows_[o].end; ++w) sums[w] += value;
        }
        for (int64_t w = 0; w < columns_.in; ++w) row[w * in_.stride[4]] = static_cast<T>(sums[w]);
    }

    void fill(T* row, int64_t begin, int64_t end, const T* cell) const {
        if (in_.stride[4] == 1) return (void)std::fill(row + begin, row + std::max(begin, end), *cell);
        for (int64_t w = begin; w < end; ++w) std::copy_n(cell, inner_, row + w * in_.stride[4]);
    }

    void clear(T* row, int64_t begin, int64_t end) const {
        if (in_.stride[4] == inner_) return (void)std::fill(row + begin * inner_, row + std::max(begin, end) * inner_, T{});
        for (int64_t w = begin; w < end; ++w) std::fill_n(row + w * in_.stride[4], inner_, T{});
    }

    void copy(const T* from, T* to) const {
        if (in_.stride[4] == inner_) return (void)std::copy_n(from, columns_.in * inner_, to);
        for (int64_t w = 0; w < columns_.in; ++w) std::copy_n(from + w * in_.stride[4], inner_, to + w * in_.stride[4]);
    }

    const View<5>&out_, &in_;
    const AxisSpec &rows_, &columns_;
    const bool overlap_;    // a cell may lie in several windows
    const int64_t inner_;   // how many adjacent channels make a cell
    const int64_t common_;  // of the rows
    std::array<Columns, kMaxSmallWindows> windows_;
};

// The largest tensors that take less time without tables; 0: none does.
int64_t max_cells(const Problem& problem) {
    const AxisSpec &rows = problem.spec(1), &columns = problem.spec(2);
    const bool has_rows = problem.target.stride[4] == 1, has_short_step = columns.step <= kSmallShortStep;
    if (rows.overlaps() || columns.overlaps())
        return has_rows && problem.dtype() == DType::float32 && !has_short_step ? kSmallCellsOfOverlapping : 0;
    // The loops convert float16 in lanes.
    if (adjacent_channels(problem) > 1 && problem.dtype() != DType::float16) return kSmallCellsOfChannels;
    if (!has_rows) return kSmallCells;
    if (columns.kernel >= kSmallWideWindow) return kSmallCellsOfWideWindows;
    return columns.step >= kSmallLongStep ? kSmallCellsOfLongSteps : has_short_step ? kSmallCellsOfShortSteps : kSmallCells;
}

}  // namespace

// The cells of a row of sums, and of a window, are on the stack.
bool can_small(const Problem& problem) {
    const AxisSpec &rows = problem.spec(1), &columns = problem.spec(2);
    if (!problem.pools() || problem.has_volumes() || rows.step <= 0 || columns.step <= 0 || columns.out > kMaxSmallWindows) return false;
    if (!rows.overlaps() && !columns.overlaps()) return adjacent_channels(problem) <= kSmallCellsOfChannels;
    return rows.out <= kMaxSmallWindows && columns.in <= kSmallCellsOfOverlapping;
}

bool pays_small(const Problem& problem) {
    const int64_t limit = max_cells(problem);
    if (adjacent_channels(problem) == 1 && problem.source.element_count() > kSmallWindows) return false;
    int64_t cells = 1;
    for (const int64_t size : problem.target.size) {
        if (size > limit) return false;
        cells *= size;
    }
    return cells <= limit;
}

void run_small(const Problem& problem, int) {
    visit_floating(problem.dtype(), [&](auto tag) { SmallPlanes<typename decltype(tag)::type>(problem).run(); });
}

}  // namespace torch_aclnn::kernels
