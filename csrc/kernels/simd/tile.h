// Tiles of elements whose rows are parts of different planes, and which are transposed on their way. Needs AVX2.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// A tile has E elements of each of 2 E planes: a row of E elements is half a vector. Two rows share one, in whose halves shuffles work.
template <class T>
constexpr int kTileElements = kVectorBytes / 2 / static_cast<int>(sizeof(T));
template <class T>
constexpr int kTilePlanes = 2 * kTileElements<T>;
template <class T>
using TileRow = Vector<BitsOf<T>, kTilePlanes<T>>;

// Interleaves the elements of either half of `a` with those of `b`: their first ones, or their last ones.
template <bool kLast, class V, int... kLane>
inline V interleave_halves(V a, V b, std::integer_sequence<int, kLane...>) {
    constexpr int N = sizeof...(kLane), E = N / 2;
    using Lane = std::conditional_t<N == 16, int16_t, int32_t>;
    constexpr auto lane = [](int i) { return i / E * E + (kLast ? E / 2 : 0) + i % E / 2 + i % 2 * N; };
    return __builtin_shuffle(a, b, Vector<Lane, N>{static_cast<Lane>(lane(kLane))...});
}

// Each round takes row i and the one half a tile further.
template <class V, int E>
inline void transpose_halves(V (&rows)[E]) {
    constexpr auto lanes = std::make_integer_sequence<int, 2 * E>{};
#pragma GCC unroll 3
    for (int round = 1; round < E; round *= 2) {
        V next[E];
#pragma GCC unroll 8
        for (int i = 0; i < E / 2; ++i) {
            next[2 * i] = interleave_halves<false>(rows[i], rows[i + E / 2], lanes);
            next[2 * i + 1] = interleave_halves<true>(rows[i], rows[i + E / 2], lanes);
        }
#pragma GCC unroll 8
        for (int i = 0; i < E; ++i) rows[i] = next[i];
    }
}

// One element of all planes as sums, and back; the order of the planes is what takes the fewest shuffles.
template <class T>
inline void store_cell(float* cell, TileRow<T> row) {
    constexpr int N = kLanes<float>;
    if constexpr (sizeof(T) == 4) {
        store_bytes(cell, row);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        store_bytes(cell, _mm256_unpacklo_epi16(__m256i{}, (__m256i)row));
        store_bytes(cell + N, _mm256_unpackhi_epi16(__m256i{}, (__m256i)row));
    } else {
        store_bytes(cell, widen<N, T>((Vector<uint16_t, N>)_mm256_castsi256_si128((__m256i)row)));
        store_bytes(cell + N, widen<N, T>((Vector<uint16_t, N>)_mm256_extracti128_si256((__m256i)row, 1)));
    }
}

template <class T>
inline TileRow<T> load_cell(const float* cell) {
    constexpr int N = kLanes<float>;
    const auto first = load<N>(cell);
    if constexpr (sizeof(T) == 4) {
        return first;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return (TileRow<T>)_mm256_packus_epi32((__m256i)bfloat16_bits<N>(first), (__m256i)bfloat16_bits<N>(load<N>(cell + N)));
    } else {
        return (TileRow<T>)_mm256_set_m128i((__m128i)narrow<N, T>(load<N>(cell + N)), (__m128i)narrow<N, T>(first));
    }
}

// Reads the elements from e on of the planes; those of one element go to cells + i * kTilePlanes.
template <class T>
inline void read_tile(const T* const* planes, int64_t e, float* cells) {
    constexpr int E = kTileElements<T>;
    TileRow<T> rows[E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i)
        rows[i] = (TileRow<T>)_mm256_set_m128i(load_bytes<__m128i>(planes[i + E] + e), load_bytes<__m128i>(planes[i] + e));
    transpose_halves(rows);
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) store_cell<T>(cells + i * kTilePlanes<T>, rows[i]);
}

// Writes the elements from e on of `count` planes, the i-th from the cell at places[i], `size` of them.
template <class T>
inline void write_tile(const float* cells, const int32_t* places, T* const* planes, int64_t e, int64_t count, int64_t size) {
    constexpr int E = kTileElements<T>;
    TileRow<T> rows[E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) rows[i] = load_cell<T>(cells + places[i]);
    transpose_halves(rows);
    const auto store_rows = [&](auto place) {
#pragma GCC unroll 8
        for (int i = 0; i < E; ++i) {
            store_bytes(place(i), _mm256_castsi256_si128((__m256i)rows[i]));
            store_bytes(place(i + E), _mm256_extracti128_si256((__m256i)rows[i], 1));
        }
    };
    if (count == kTilePlanes<T> && size == E) return store_rows([=](int plane) { return planes[plane] + e; });
    T tile[kTilePlanes<T> * E];
    store_rows([&](int plane) { return tile + plane * E; });
    for (int64_t i = 0; i < count; ++i) __builtin_memcpy(planes[i] + e, tile + i * E, size * sizeof(T));
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
