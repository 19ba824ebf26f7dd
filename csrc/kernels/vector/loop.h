// Walks over the elements [begin, end) of a loop as pieces of rows.
#pragma once

#include "kernels/vector/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(position, count): `position` has the index in each dimension, of which the last is where the piece of the row begins. The
// body may change that one.
template <class Body>
inline void for_row_pieces(const Loop& loop, int64_t begin, int64_t end, const Body& body) {
    const int row = loop.rank - 1;
    int64_t position[Loop::kMaxRank];
    for (int64_t d = row, rest = begin; d >= 0; rest /= loop.size[d--]) position[d] = rest % loop.size[d];
    for (int64_t left = end - begin; left > 0;) {
        const int64_t count = smaller(left, loop.size[row] - position[row]);
        body(position, count);
        left -= count;
        position[row] = 0;
        for (int d = row - 1; d >= 0 && ++position[d] == loop.size[d]; --d) position[d] = 0;
    }
}

inline int64_t offset(const Loop& loop, const int64_t* position, const int64_t* stride) {
    int64_t sum = 0;
    for (int d = 0; d < loop.rank; ++d) sum += position[d] * stride[d];
    return sum;
}

template <class T>
inline T* address(const Loop& loop, const LoopOperand& operand, const int64_t* position) {
    return static_cast<T*>(operand.data) + offset(loop, position, operand.stride);
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
