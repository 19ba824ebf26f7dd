// The columns of average pooling backward: from the sums of one row of windows to a row of grad_input.
#pragma once

#include "kernels/average_pool/job.h"
#include "kernels/simd/sink.h"
#include "kernels/simd/terms.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// The sums lie between zeros, so that the borders need no code of their own.
template <class T>
class PoolColumns {
   public:
    using S = Sum<T>;

    explicit PoolColumns(const AveragePoolJob& job) : job_(job) {
        for (int64_t i = 0; i < job.step; ++i) {
            // Column i and every step-th one after it lead the start of a window by r; so many windows hold them.
            const int64_t place = job.padding + i, r = place % job.step;
            terms_[i] = r < job.kernel ? (job.kernel - 1 - r) / job.step + 1 : 0;
            shift_[i] = place / job.step;
        }
    }

    void expand(const S* sums, T* row) const {
        switch (job_.step) {
            case 0: return fill_runs(sums, row);
            case 1: return slide(sums, row);
            case 2: return interleave_two(sums, row);
            default: return interleave(sums, row, terms_[0], terms_[1], terms_[2]);
        }
    }

   private:
    static constexpr int N = kLanes<S>;

    // The sum of `count` neighbours that ends at each of N places; `Count` is a number, or a type that stands for one.
    template <class Count>
    static Vector<S, N> window(const S* last, Count count) {
        if (count == 0) return Vector<S, N>{};
        return sum_apart<N>(last - (count - 1), 1, count);
    }

    void slide(const S* sums, T* row) const {
        const S* last = sums + shift_[0];
        visit_count(terms_[0], [=](auto count) {
            for (int64_t i = 0, width = job_.columns.in; i < width; i += N) store<N>(row + i, window(last + i, count));
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

    // As many terms as there are columns in a step.
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
    void fill_runs(const S* sums, T* row) const {
        const AxisTable& columns = job_.columns;
        for (int64_t begin = 0; begin < columns.in; begin = columns.run_end[begin]) {
            S sum = 0;
            for (int64_t o = columns.first[begin]; o < columns.last[begin]; ++o) sum += sums[o];
            const Vector<S, N> all = Vector<S, N>{} + sum;
            for (int64_t i = begin; i < columns.run_end[begin]; i += N) store<N>(row + i, all);
        }
    }

    const AveragePoolJob& job_;
    int64_t terms_[3], shift_[3];
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
