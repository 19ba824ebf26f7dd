// What the loop of transposed planes takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/support/dtype.h"

namespace torch_aclnn::kernels {

// Sums of so many terms each. A cell holds one number of each plane of a group; cells are named by their place, in numbers.
struct CellSums {
    int64_t count, terms;
    const int32_t* cells;  // [count][1 + terms]: where the sum goes, and where its terms are
    const float* scale;    // of each sum, null: ones; a sum of -0 times its scale is 0
};

struct TransposedPlanesJob {
    DType dtype;  // a type whose sums are float
    const void* source;
    void* target;
    int64_t planes, channels;                      // of all samples, and of one
    int64_t source_stride[2], target_stride[2];    // of samples and channels; a plane of either has no gaps
    int64_t source_size, target_size, source_end;  // of a plane; and where the source's last plane ends, in elements from its first one
    const CellSums* sums;                          // in the order in which they are made
    int64_t sum_count;
    const int32_t* result;                        // [target_size]: the cell of each number of a plane of the target
    int64_t cell_bytes, plane_bytes, sink_bytes;  // parts of the scratch memory: the cells, copies of small planes, the sink
    bool stream;                                  // write around the caches
    bool prefetch;                                // the next group, whose planes are adjacent
};

// Makes the groups [begin, end) of as many planes as there are lanes. `scratch` has as many bytes as the plan asks for.
using TransposedPlanesLoop = void(const TransposedPlanesJob& job, int64_t begin, int64_t end, void* scratch);
namespace avx2 {
TransposedPlanesLoop transposed_planes;
}

}  // namespace torch_aclnn::kernels
