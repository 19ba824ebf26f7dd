// What the loop of planes takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,0,h,w] = sum over ow of (sum over oh of grad_output[n,c,0,oh,ow] * rows.scale[oh]) * columns.scale[ow].
struct PlanesJob {
    static constexpr int kMaxLines = 8;
    static constexpr int64_t kMaxInner = 15;  // of cells whose windows do not slide; more channels fill vectors by themselves
    View<5> grad_output, grad_input;
    AxisTable rows, columns;
    // Columns of regular windows, window o over [o * step - padding, o * step - padding + kernel); step 0: any windows.
    int64_t step, kernel, padding;
    int64_t inner;  // adjacent numbers of a column: `padding` and the sizes of `columns` count these, the tables of `columns` cells
    GatherTable column_sums;   // of columns that are not regular, if it has blocks
    int64_t rows_per_piece;    // how many rows that are alike are made at once
    int64_t lines, line_size;  // how many lines of sums are kept, kMaxLines at most, and how far they are apart
    // Parts of the scratch memory: the sums, a row, the sink.
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;  // write around the caches
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h. `scratch` has as many bytes as the plan asks for.
using PlanesLoop = void(const PlanesJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(PlanesLoop, average_planes)

}  // namespace torch_aclnn::kernels
