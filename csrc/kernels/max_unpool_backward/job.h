// What the loop of max unpooling takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/loop.h"

namespace torch_aclnn::kernels {

// out[i] = plane(i)[indices[i]]; the plane moves with each dimension of the loop, by its stride there.
struct MaxUnpoolJob {
    static constexpr int64_t kBlock = 64;      // elements that are taken at a time
    static constexpr int64_t kMaxJoined = 32;  // channels of a joined row
    static constexpr int64_t kAhead = 128;     // indices between a prefetch and its use
    Loop loop;
    int64_t element_size;
    LoopOperand indices, out, plane;
    int64_t logical_stride[Loop::kMaxRank];  // strides of an element's linear position in the order of `indices`
    int64_t plane_size;
    int64_t element_stride;                              // the step between neighbours of the plane, or 0 if these are not evenly spaced:
    int64_t plane_height, plane_width, plane_stride[3];  // strides of depth, row and column
    bool joins_rows;                                     // rows of up to kMaxJoined channels, whose indices follow each other
    bool prefetch_planes, prefetch_elements;             // prefetches short planes as a whole, of others the elements that are read
    int64_t rows_ahead;                                  // prefetches instead what a row of channels reads this many rows later; 0: nothing
};

// The element that lies first in the order of `indices` and whose index is outside its plane; linear is -1 if there is none.
struct FirstBad {
    int64_t linear, index;
};

// Computes the elements [begin, end) of the loop.
using MaxUnpoolLoop = FirstBad(const MaxUnpoolJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LOOP(MaxUnpoolLoop, max_unpool)

}  // namespace torch_aclnn::kernels
