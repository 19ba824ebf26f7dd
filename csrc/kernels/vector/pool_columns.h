// The columns of average pooling backward: from the sums of one row of windows to a row of grad_input.
#pragma once

#include "kernels/vector/sink.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// The sums lie between zeros, so that the borders need no code of their own.
template <class T>
class PoolColumns {
   public:
    using S = Sum<T>;

    // `memory` has two lines for sums of neighbours.
    PoolColumns(const AveragePoolJob& job, S* memory, int64_t line_size) : job_(job), lines_{memory, memory + line_size} {
        if (job.step < 2) return;
        neighbour_size_ = (job.columns.in + job.padding) / job.step + 2;
        const int64_t most = terms(0);
        for (int64_t i = 0; i < job.step; ++i) {
            const int64_t place = job.padding + i;
            is_most_[i] = terms(place % job.step) == most;
            shift_[i] = place / job.step;
        }
    }

    void expand(const S* sums, T* row) const {
        switch (job_.step) {
            case 0: return fill_runs(sums, row);
            case 1: return slide(sums, row);
            case 2: return interleave<2>(sums, row);
            default: return interleave<3>(sums, row);
        }
    }

   private:
    static constexpr int N = kLanes<S>;

    // How many windows hold a column that leads the start of a window by r.
    int64_t terms(int64_t r) const { return r < job_.kernel ? (job_.kernel - 1 - r) / job_.step + 1 : 0; }

    // The sum of `count` neighbours that ends at each of N places.
    static Vector<S, N> window(const S* last, int64_t count) {
        auto sum = load<N>(last - (count - 1));
        for (int64_t back = count - 2; back >= 0; --back) sum += load<N>(last - back);
        return sum;
    }

    void slide(const S* sums, T* row) const {
        const S* last = sums + job_.padding;
        const auto cover = [&](auto count) {
            for (int64_t i = 0; i < job_.columns.in; i += N) store<N>(row + i, window(last + i, count));
        };
        switch (job_.kernel) {
            case 2: return cover(std::integral_constant<int64_t, 2>{});
            case 3: return cover(std::integral_constant<int64_t, 3>{});
            default: return cover(job_.kernel);
        }
    }

    // Columns whose lead has the same remainder by the step lie in equally many windows: terms(0), or one less.
    template <int kStep>
    void interleave(const S* sums, T* row) const {
        const int64_t most = terms(0);
        const S* less_sums = neighbour_sums(sums, most - 1, lines_[0]);
        const S* most_sums = neighbour_sums(sums, most, lines_[1]);
        const S* sources[kStep];
        for (int i = 0; i < kStep; ++i) sources[i] = (is_most_[i] ? most_sums : less_sums) + shift_[i];
        for (int64_t i = 0; i * kStep < job_.columns.in; i += N) {
            Vector<S, N> phases[kStep];
            for (int phase = 0; phase < kStep; ++phase) phases[phase] = load<N>(sources[phase] + i);
            store_interleaved<kStep>(row + i * kStep, phases);
        }
    }

    // The sums of this many neighbours at each place: the line itself, or one that is made now, or one that stays zero.
    const S* neighbour_sums(const S* sums, int64_t count, S* line) const {
        if (count == 1) return sums;
        S* target = line + kSlack / sizeof(S);
        if (count == 2)
            for (int64_t i = 0; i < neighbour_size_; i += N) store<N>(target + i, window(sums + i, 2));
        else if (count > 2)
            for (int64_t i = 0; i < neighbour_size_; i += N) store<N>(target + i, window(sums + i, count));
        return target;
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
    S* lines_[2];
    bool is_most_[3];
    int64_t shift_[3];
    int64_t neighbour_size_ = 0;
};

}  // namespace torch_aclnn::kernels::KERNEL_ISA
