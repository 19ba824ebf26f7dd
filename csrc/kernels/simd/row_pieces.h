// Walks over the elements [begin, end) of a loop as pieces of rows, without a division per row.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(offsets, rows, count) for parts of rows, so many neighbours of one length in the dimension around the row: where the first
// element of the first lies by each of the strides. The body may move the offsets if it moves them back.
template <int kOperands, class Body>
inline __attribute__((always_inline)) void for_row_blocks(const Loop& loop, const int64_t* const (&strides)[kOperands], int64_t begin,
                                                          int64_t end, const Body& body) {
    const int row = loop.rank - 1;
    int64_t position[Loop::kMaxRank], offsets[kOperands] = {};
    const auto move = [&](int d, int64_t steps) {
        for (int operand = 0; operand < kOperands; ++operand) offsets[operand] += steps * strides[operand][d];
    };
    for (int64_t d = row, rest = begin; d >= 0; rest /= loop.size[d--]) {
        position[d] = rest % loop.size[d];
        move(d, position[d]);
    }
    for (int64_t left = end - begin; left > 0;) {
        const int64_t count = smaller(left, loop.size[row] - position[row]);
        // Whole rows, up to the end of the next outer dimension, make one piece: the dimensions further out do not change.
        const int64_t rows = row > 0 && count == loop.size[row] ? smaller(left / count, loop.size[row - 1] - position[row - 1]) : 1;
        body(offsets, rows, count);
        left -= rows * count;
        if (position[row] != 0) move(row, -position[row]);
        position[row] = 0;
        for (int64_t d = row - 1, steps = rows; d >= 0; --d, steps = 1) {
            position[d] += steps;
            move(d, steps);
            if (position[d] < loop.size[d]) break;
            move(d, -position[d]);
            position[d] = 0;
        }
    }
}

// Calls body(offsets, count) for each of these parts.
template <int kOperands, class Body>
inline void for_row_pieces(const Loop& loop, const int64_t* const (&strides)[kOperands], int64_t begin, int64_t end, const Body& body) {
    const int around = loop.rank > 1 ? loop.rank - 2 : 0;  // one row needs no loop around it
    for_row_blocks(loop, strides, begin, end,
                   [&](int64_t (&offsets)[kOperands], int64_t rows, int64_t count) __attribute__((always_inline)) {
                       for (int64_t i = 0; i < rows; ++i) {
                           body(offsets, count);
                           for (int operand = 0; operand < kOperands; ++operand) offsets[operand] += strides[operand][around];
                       }
                       for (int operand = 0; operand < kOperands; ++operand) offsets[operand] -= rows * strides[operand][around];
                   });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
