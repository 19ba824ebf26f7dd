// The columns of average pooling backward: from the sums of one row of windows to a row of grad_input.
#pragma once

#include "kernels/separable/gather_sum.h"
#include "kernels/separable/jobs.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// The sums lie between zeros, so that the borders need no code of their own.
template <class T>
class PoolColumns {
   public:
    using S = Sum<T>;

    explicit PoolColumns(const PlanesJob& job) : job_(job) {
        for (int64_t i = 0; i < job.step; ++i) {
            // Column i and every step-th one after it lie r columns behind the start of a window, and so many windows hold them.
            const int64_t place = job.padding + i, r = place % job.step;
            terms_[i] = r < job.kernel ? (job.kernel - 1 - r) / job.step + 1 : 0;
            shift_[i] = place / job.step;
        }
    }

    void expand(const S* sums, T* row) const {
        switch (job_.step) {
            case 0: return sum_columns(sums, row);
            case 1: return slide(sums, row);
            case 2: return interleave_two(sums, row);
            default: return interleave(sums, row, terms_[0], terms_[1], terms_[2]);
        }
    }

   private:
    static constexpr int N = kLanes<S>;

    // Returns, for each of N places, the sum of the `count` neighbours that end there; `Count` is a number, or a type that stands for one.
    static Vector<S, N> window(const S* last, auto count, int64_t distance = 1) {
        if (count == 0) return Vector<S, N>{};
        return sum_apart<N>(last - (count - 1) * distance, distance, count);
    }

    void slide(const S* sums, T* row) const {
        const S* last = sums + shift_[0];
        visit_count(terms_[0], [=](auto count) {
            for (int64_t i = 0, width = job_.columns.in; i < width; i += N) store<N>(row + i, window(last + i, count, job_.inner));
        });
    }

    // The terms of the commonest windows are known to the compiler: kernel 2 or less, and 3.
    void interleave_two(const S* sums, T* row) const {
        constexpr std::integral_constant<int64_t, 1> one;
        constexpr std::integral_constant<int64_t, 2> two;
        if (terms_[0] == 1 && terms_[1] == 1) return interleave(sums, row, one, one);
        if (terms_[0] == 1 && terms_[1] == 2) return interleave(sums, row, one, two);
        if (terms_[0] == 2 && terms_[1] == 1) return interleave(sums, row, two, one);
        interleave(sums, row, terms_[0], terms_[1]);
    }

    template <class... Counts>
    void interleave(const S* sums, T* row, Counts... counts) const {
        constexpr int kStep = sizeof...(counts);
        const S* sources[kStep];
        for (int phase = 0; phase < kStep; ++phase) sources[phase] = sums + shift_[phase];
        for (int64_t i = 0, width = job_.columns.in; i * kStep < width; i += N) {
            int phase = 0;
            const Vector<S, N> phases[] = {window(sources[phase++] + i, counts)...};
            store_interleaved<kStep>(row + i * kStep, phases);
        }
    }

    // Two half types fill a word, which needs no shuffle.
    template <int kStep>
    static void store_interleaved(T* target, const Vector<S, N>* phases) {
        if constexpr (kStep == 2 && sizeof(T) == 2) return store_bytes(target, to_bits<N, T>(phases[0]) | to_bits<N, T>(phases[1]) << 16);
        store_part<kStep, 0>(target, phases);
        store_part<kStep, 1>(target, phases);
        if constexpr (kStep == 3) store_part<kStep, 2>(target, phases);
    }

    template <int kStep, int kPart>
    static void store_part(T* target, const Vector<S, N>* phases) {
        constexpr auto lanes = std::make_integer_sequence<int, N>{};
        auto value = __builtin_shuffle(phases[0], phases[1], from_first_two<kStep, kPart>(lanes));
        if constexpr (kStep == 3) value = __builtin_shuffle(value, phases[2], with_third<kPart>(lanes));
        store<N>(target + kPart * N, value);
    }

    // The lanes of a shuffle are spelled out, because the compiler may not know those that a loop fills in. Element e of the interleaved
    // order is phases[e % kStep][e / kStep].
    using Lane = std::conditional_t<sizeof(S) == 4, int32_t, int64_t>;
    template <int kStep, int kPart, int... kLane>
    static Vector<Lane, N> from_first_two(std::integer_sequence<int, kLane...>) {
        constexpr auto lane = [](int e) { return e % kStep == 2 ? 0 : e % kStep * N + e / kStep; };
        return Vector<Lane, N>{lane(kPart * N + kLane)...};
    }
    template <int kPart, int... kLane>
    static Vector<Lane, N> with_third(std::integer_sequence<int, kLane...>) {
        constexpr auto lane = [](int i) { return (kPart * N + i) % 3 == 2 ? N + (kPart * N + i) / 3 : i; };
        return Vector<Lane, N>{lane(kLane)...};
    }

    void sum_columns(const S* sums, T* row) const {
        if constexpr (std::is_same_v<S, float>)
            if (job_.column_sums.blocks > 0) return gather_sums(sums, job_.column_sums, row);
        job_.inner == 1 ? fill_runs(sums, row) : fill_runs_of_cells(sums, row);
    }

    // Neighbours in the same windows have the same value.
    void fill_runs(const S* sums, T* row) const {
        const AxisTable& columns = job_.columns;
        for (int64_t begin = 0; begin < columns.in; begin = columns.run_end[begin]) {
            S sum = 0;
            for (int64_t o = columns.first[begin]; o < columns.last[begin]; ++o) sum += sums[o];
            const Vector<S, N> all = Vector<S, N>{} + sum;
            for (int64_t i = begin; i < columns.run_end[begin]; i += N) store<N>(row + i, all);
        }
    }

    // What is written behind a cell is overwritten by the next one.
    void fill_runs_of_cells(const S* sums, T* row) const {
        const AxisTable& columns = job_.columns;
        const int64_t inner = job_.inner, cells = columns.in / inner;
        for (int64_t begin = 0; begin < cells; begin = columns.run_end[begin]) {
            const S* const source = sums + columns.first[begin] * inner;
            const int64_t count = columns.last[begin] - columns.first[begin];
            Vector<S, N> sum[(PlanesJob::kMaxInner + N - 1) / N];
            for (int64_t c = 0; c < inner; c += N) sum[c / N] = window(source + (count - 1) * inner + c, count, inner);
            for (int64_t i = begin; i < columns.run_end[begin]; ++i)
                for (int64_t c = 0; c < inner; c += N) store<N>(row + i * inner + c, sum[c / N]);
        }
    }

    const PlanesJob& job_;
    int64_t terms_[3], shift_[3];
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
