// Sums of elements that a table lists: one shuffle a term where they lie close together.
#pragma once

#include "kernels/flat_planes/gather_table.h"
#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

constexpr int kGatherLanes = kLanes<float>;

// A term of a block. Lanes that have none get 0 as the first term, and then -0, which changes nothing, not even a zero's sign.
template <bool kIsFirst, class T>
inline Vector<float, kGatherLanes> gather_term(const T* source, const GatherTable& table, int64_t block) {
    constexpr int N = kGatherLanes;
    using Lanes = Vector<int32_t, N>;
    const Lanes lane = load_bytes<Lanes>(table.lane + block * N);
    const int32_t start = table.start[block];
    Vector<float, N> value{};
    if (start >= 0) {
        value = __builtin_shuffle(load<N>(source + start), lane);
    } else {
        for (int i = 0; i < N; ++i)
            if (lane[i] >= 0) value[i] = static_cast<float>(source[lane[i]]);
    }
    if (table.weight != nullptr) value *= load<N>(table.weight + block * N);
    constexpr Vector<float, N> zero{};
    return lane >= 0 ? value : kIsFirst ? zero : -zero;
}

// The sums of a block of results.
template <class T>
inline Vector<float, kGatherLanes> gather_sum(const T* source, const GatherTable& table, int64_t block) {
    auto sum = gather_term<true>(source, table, block);
    for (int64_t term = 1, at = block + table.blocks; term < table.terms && table.start[at] != GatherTable::kNoTerm;
         ++term, at += table.blocks)
        sum += gather_term<false>(source, table, at);
    return sum;
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
