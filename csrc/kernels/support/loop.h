// An element-wise loop over views of up to eight dimensions, and how it is brought into the order and number of dimensions that suit it.
#pragma once

#include <initializer_list>

#include "kernels/support/dtype.h"

namespace torch_aclnn::kernels {

// The dimensions of a view in the order in which a loop takes them; the last one is the row.
struct Loop {
    static constexpr int kMaxRank = 8;
    int rank;
    int64_t size[kMaxRank];
};

struct LoopOperand {
    void* data;
    DType dtype;
    int64_t stride[Loop::kMaxRank];
};

// Makes dimension d the last one, in the loop and in all strides.
void move_to_end(Loop& loop, std::initializer_list<int64_t*> strides, int d);

// Drops dimensions of size 1 and merges neighbours that all strides pass through as one.
void simplify(Loop& loop, std::initializer_list<int64_t*> strides);

int64_t element_count(const Loop& loop);

}  // namespace torch_aclnn::kernels
