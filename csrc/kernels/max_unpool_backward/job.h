// What the loop of max unpooling takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/loop.h"

namespace torch_aclnn::kernels {

// out[i] = plane(i)[indices[i]]; the plane moves with each dimension of the loop, by its stride there.
struct MaxUnpoolJob {
    static constexpr int64_t kBlock = 64;      // elements that are taken at a time
    static constexpr int64_t kMaxJoined = 32;  // channels
    static constexpr int64_t kAhead = 128;     // indices, between a prefetch and what needs it
    Loop loop;
    int64_t element_size;
    LoopOperand indices, out, plane;
    int64_t logical_stride[Loop::kMaxRank];  // the linear position of an element, in the order of `indices`
    int64_t plane_size;
    int64_t element_stride;                              // between neighbours of the plane, or 0 if it has to be taken apart:
    int64_t plane_height, plane_width, plane_stride[3];  // strides of depth, row and column
    bool joins_rows;                                     // rows of up to kMaxJoined channels, whose indices follow each other
    bool prefetch_planes, prefetch_elements;             // short planes as a whole, of others what is picked
    int64_t rows_ahead;                                  // instead, what is picked by a row of channels so many rows later; 0: nothing
};

// The element that lies first in the order of `indices` and whose index is outside its plane; linear is -1 if there is none.
struct FirstBad {
    int64_t linear, index;
};

// Computes the elements [begin, end) of the loop.
using MaxUnpoolLoop = FirstBad(const MaxUnpoolJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LOOP(MaxUnpoolLoop, max_unpool)

}  // namespace torch_aclnn::kernels
