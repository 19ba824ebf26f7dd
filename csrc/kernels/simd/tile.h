// Square tiles of elements, whose rows are parts of different planes, and which are transposed on their way.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// How many elements a row of a tile has: those of 16 bytes, for which machines have shuffles of one instruction.
template <class T>
constexpr int kTile = 16 / static_cast<int>(sizeof(T));

template <int kFirst, class V, int... kLane>
inline V zip(V a, V b, std::integer_sequence<int, kLane...>) {
    constexpr int E = sizeof...(kLane);
    using Lane = std::conditional_t<E == 8, int16_t, int32_t>;
    return __builtin_shuffle(a, b, Vector<Lane, E>{static_cast<Lane>(kFirst + kLane / 2 + kLane % 2 * E)...});
}

// Each round takes row i and the one half a tile further, and interleaves their elements.
template <class V, int E>
inline void transpose(V (&rows)[E]) {
    constexpr auto lanes = std::make_integer_sequence<int, E>{};
#pragma GCC unroll 3
    for (int round = 1; round < E; round *= 2) {
        V next[E];
#pragma GCC unroll 8
        for (int i = 0; i < E / 2; ++i) {
            next[2 * i] = zip<0>(rows[i], rows[i + E / 2], lanes);
            next[2 * i + 1] = zip<E / 2>(rows[i], rows[i + E / 2], lanes);
        }
#pragma GCC unroll 8
        for (int i = 0; i < E; ++i) rows[i] = next[i];
    }
}

// The elements from e on of as many planes; element i of all of them goes to cells + i * distance.
template <class T>
inline void read_tile(const T* const* planes, int64_t e, float* cells, int64_t distance) {
    constexpr int E = kTile<T>;
    Vector<BitsOf<T>, E> rows[E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) rows[i] = load_bytes<Vector<BitsOf<T>, E>>(planes[i] + e);
    transpose(rows);
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) store_bytes(cells + i * distance, widen<E, T>(rows[i]));
}

// The elements from e on of `count` planes, the i-th from the cell at places[i], `size` of them.
template <class T>
inline void write_tile(const float* cells, const int32_t* places, T* const* planes, int64_t e, int64_t count, int64_t size) {
    constexpr int E = kTile<T>;
    Vector<BitsOf<T>, E> rows[E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) rows[i] = narrow<E, T>(load<E>(cells + places[i]));
    transpose(rows);
    if (count == E && size == E) {
#pragma GCC unroll 8
        for (int i = 0; i < E; ++i) store_bytes(planes[i] + e, rows[i]);
        return;
    }
    BitsOf<T> tile[E * E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) store_bytes(tile + i * E, rows[i]);
    for (int64_t i = 0; i < count; ++i) __builtin_memcpy(planes[i] + e, tile + i * E, size * sizeof(T));
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
