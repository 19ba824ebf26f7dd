// What the loops of average pooling take. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/flat_planes/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/view.h"
#include "kernels/support/windows.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,h,w] = sum over ow of (sum over oh of grad_output[n,c,oh,ow] * rows.scale[oh]) * columns.scale[ow].
struct AveragePoolJob {
    static constexpr int kMaxLines = 8;
    static constexpr int64_t kMaxInner = 15;  // of cells whose windows do not slide; more channels fill vectors by themselves
    View<4> grad_output, grad_input;
    AxisTable rows, columns;
    // Columns of regular windows, window o over [o * step - padding, o * step - padding + kernel); step 0: any windows.
    int64_t step, kernel, padding;
    int64_t inner;  // adjacent numbers of a column: `padding` and the sizes of `columns` count these, the tables of `columns` cells
    GatherTable column_sums;  // of columns that are not regular, if it has blocks
    // Each row lies in one window, so that whole planes can be scaled at once, by a scale per window; null: not so.
    const void* plane_scale;
    int64_t rows_per_piece;    // how many rows that are alike are made at once
    int64_t lines, line_size;  // how many lines of sums are kept, kMaxLines at most, and how far they are apart
    // The channels-last form keeps the sums of so many channels for so many columns of windows.
    int64_t tile_channels, tile_columns;
    bool apart;  // each cell lies in one window at most
    // Parts of the scratch memory: the sums, a row, the sink.
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;  // write around the caches
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h or, where channels are adjacent, over n, h. `scratch` has as many bytes
// as the plan asks for.
using AveragePoolLoop = void(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LOOP(AveragePoolLoop, average_pool_planes)
TORCH_ACLNN_DECLARE_LOOP(AveragePoolLoop, average_pool_channels)

}  // namespace torch_aclnn::kernels
