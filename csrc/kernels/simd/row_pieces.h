// Walks over the elements [begin, end) of a loop as pieces of rows, without a division per row.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(offsets, count) for each piece of a row: where its first element lies by each of the strides.
template <int kOperands, class Body>
inline void for_row_pieces(const Loop& loop, const int64_t* const (&strides)[kOperands], int64_t begin, int64_t end, const Body& body) {
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
        // Whole rows up to the end of the dimension around them need no look at the others.
        const int64_t rows = row > 0 && count == loop.size[row] ? smaller(left / count, loop.size[row - 1] - position[row - 1]) : 1;
        for (int64_t i = 0; i < rows; ++i) {
            body(offsets, count);
            if (row > 0) move(row - 1, 1);
        }
        left -= rows * count;
        if (position[row] != 0) move(row, -position[row]);
        position[row] = 0;
        for (int64_t d = row - 1, steps = rows; d >= 0; --d, steps = 1) {
            position[d] += steps;
            if (d < row - 1) move(d, 1);
            if (position[d] < loop.size[d]) break;
            move(d, -position[d]);
            position[d] = 0;
        }
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
