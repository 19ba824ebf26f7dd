// Walks over the elements [begin, end) of a loop as pieces of rows.
#pragma once

#include "kernels/vector/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(position, count): `position` has the index in each dimension, of which the last is where the piece of the row begins.
template <class Body>
inline void for_row_pieces(const Loop& loop, int64_t begin, int64_t end, const Body& body) {
    const int64_t width = loop.size[loop.rank - 1];
    for (int64_t element = begin; element < end;) {
        int64_t position[Loop::kMaxRank];
        position[loop.rank - 1] = element % width;
        for (int64_t d = loop.rank - 2, rest = element / width; d >= 0; rest /= loop.size[d--]) position[d] = rest % loop.size[d];
        const int64_t count = smaller(end - element, width - position[loop.rank - 1]);
        body(position, count);
        element += count;
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
