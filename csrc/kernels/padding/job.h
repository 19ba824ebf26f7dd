// What the loop of padding takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/flat_planes/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// Input index i was copied to the output indices source[begin[i]], ..., source[begin[i + 1] - 1], in ascending order. The input indices
// [copy_begin, copy_end) were copied once each, to output indices that follow each other.
struct SourceTable {
    int64_t in, out;
    const int64_t* begin;
    const int64_t* source;
    int64_t copy_begin, copy_end;
};

// grad_input[n,c,d,h,w] = sum over ow of the sum of the rows (od, oh) of grad_output[n,c], at ow, for cells of `inner` adjacent real numbers.
struct PaddingJob {
    static constexpr int64_t kBlock = 1024;  // elements that are copied at a time
    View<5> grad_output, grad_input;         // strides count real numbers
    const int64_t* row_begin;                // of each (d, h), in row_source: where its rows begin in grad_output[n,c]
    const int64_t* row_source;
    SourceTable columns;
    GatherTable column_sums;  // of a short row; no blocks: of none
    bool widens;              // rows of half types become float first, of which a machine gathers elements
    int64_t inner;
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;    // write around the caches
    bool prefetch;  // grad_output may come from memory
};

// Makes the rows [begin, end) of grad_input, counted over n, c, d, h. `scratch` has as many bytes as the plan asks for.
using PaddingLoop = void(const PaddingJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LOOP(PaddingLoop, padding)

}  // namespace torch_aclnn::kernels
