// Sums of elements that a table lists: one shuffle a term where they lie close together.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

constexpr int kGatherLanes = kLanes<float>;

// The listed elements, wherever they lie; 0 in lanes that have none.
template <class T>
inline Vector<float, kGatherLanes> gather_far(const T* source, Vector<int32_t, kGatherLanes> lane) {
#if KERNEL_VECTOR_BYTES == 64
    if constexpr (std::is_same_v<T, float>)
        return (Vector<float, kGatherLanes>)_mm512_mask_i32gather_ps(__m512{}, _mm512_movepi32_mask((__m512i)~lane), (__m512i)lane, source,
                                                                     4);
#elif KERNEL_VECTOR_BYTES == 32
    if constexpr (std::is_same_v<T, float>)
        return (Vector<float, kGatherLanes>)_mm256_mask_i32gather_ps(__m256{}, source, (__m256i)lane, (__m256)~lane, 4);
#endif
    Vector<float, kGatherLanes> value{};
    for (int i = 0; i < kGatherLanes; ++i)
        if (lane[i] >= 0) value[i] = static_cast<float>(source[lane[i]]);
    return value;
}

// A term of a block. Lanes that have none get 0 as the first term, and then -0, which changes nothing, not even a zero's sign.
template <bool kIsFirst, class T>
inline Vector<float, kGatherLanes> gather_term(const T* source, const GatherTable& table, int64_t block) {
    constexpr int N = kGatherLanes;
    using Lanes = Vector<int32_t, N>;
    const Lanes lane = load_bytes<Lanes>(table.lane + block * N);
    const int32_t start = table.start[block];
    Vector<float, N> value;
    if (start < 0) {
        value = gather_far(source, lane);
    } else if (start < GatherTable::kTwoVectors) {
        value = __builtin_shuffle(load<N>(source + start), lane);
    } else {
        const T* const first = source + (start - GatherTable::kTwoVectors);
        value = __builtin_shuffle(load<N>(first), load<N>(first + N), lane);
    }
    if (table.weight != nullptr) value *= load<N>(table.weight + block * N);
    constexpr Vector<float, N> zero{};
    return lane >= 0 ? value : kIsFirst ? zero : -zero;
}

// The sums of a block of results.
inline Vector<float, kGatherLanes> gather_sum(const auto* source, const GatherTable& table, int64_t block) {
    auto sum = gather_term<true>(source, table, block);
    for (int64_t term = 1, at = block + table.blocks; term < table.terms && table.start[at] != GatherTable::kNoTerm;
         ++term, at += table.blocks)
        sum += gather_term<false>(source, table, at);
    return sum;
}

// Writes all results, and up to a block's length behind them. The table is a copy, so that the compiler knows that no result overwrites it.
inline void gather_sums(const auto* source, const GatherTable table, auto* target) {
    for (int64_t block = 0; block < table.blocks; ++block)
        store<kGatherLanes>(target + block * kGatherLanes, gather_sum(source, table, block));
}

// Writes the sums of a stage, multiplied by its scale where it has one.
inline void stage_sums(const GatherStage stage, const auto* source, auto* target) {
    constexpr int N = kGatherLanes;
    if (stage.scale == nullptr) return gather_sums(source, stage.table, target);
    for (int64_t block = 0; block < stage.table.blocks; ++block)
        store<N>(target + block * N, gather_sum(source, stage.table, block) * load<N>(stage.scale + block * N) + 0.0f);
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
