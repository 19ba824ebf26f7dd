// What the loop of padded rows takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,d,h,w] = sum over ow of the sum of the rows (od, oh) of grad_output[n,c], at ow, for cells of `inner` adjacent real
// numbers.
struct RowsJob {
    static constexpr int64_t kBlock = 1024;  // elements that are copied at a time
    View<5> grad_output, grad_input;
    AxisTable rows;              // of depth and rows
    const int64_t* row_offsets;  // of each of their terms: where the row begins in grad_output[n,c]
    AxisTable columns;
    int64_t copy_begin, copy_end;  // the columns that were copied once each, to columns that follow each other
    GatherTable column_sums;       // of a short row; no blocks: of none
    bool widens;                   // rows of half types become float first, of which a machine gathers elements
    int64_t inner;
    int64_t sum_bytes, row_bytes, sink_bytes;  // parts of the scratch memory: sums of a row, twice a row, the sink
    bool stream;                               // write around the caches
    bool prefetch;                             // grad_output may come from memory
};

// Makes the rows [begin, end) of grad_input, counted over n, c, d, h. `scratch` has as many bytes as the plan asks for.
using RowsLoop = void(const RowsJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(RowsLoop, padded_rows)

}  // namespace torch_aclnn::kernels
