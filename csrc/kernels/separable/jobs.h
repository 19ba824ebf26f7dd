// What the loops of the strategies take. Plain data, because they are compiled for several instruction sets.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,0,h,w] = the sum of grad_output[n,c,0,o,0] * rows.scale[o] over the windows o that hold row h, times column_scale.
struct FullWidthJob {
    static constexpr int64_t kMaxTerms = 2;  // the largest number of windows of an adaptive pooling that share a row
    View<5> grad_output, grad_input;         // a plane of grad_input has no gaps
    AxisTable rows;
    int64_t terms;             // 1: each row lies in one window; 2: in two at most
    const void* column_scale;  // one number, in the type of the sums
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h.
using FullWidthLoop = void(const FullWidthJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LANES(FullWidthLoop, full_width_windows)

// Sums of `terms` terms each. A cell holds one number of each plane of a group; cells are named by their place, in numbers.
struct CellSums {
    int64_t count, terms;
    const int32_t* cells;  // [count][1 + terms]: where the sum goes, and where its terms are
    const float* scale;    // a scale for each sum; null: ones; a sum of -0 times its scale is 0
};

struct TransposedPlanesJob {
    DType dtype;  // a type whose sums are float
    const void* source;
    void* target;
    int64_t planes, channels;                      // planes of all samples, channels of one
    int64_t source_stride[2], target_stride[2];    // strides of samples and channels; planes have no gaps
    int64_t source_size, target_size, source_end;  // sizes of planes; source_end: where the last plane ends, from the first element
    const CellSums* sums;                          // in the order in which they are made
    int64_t sum_count;
    const int32_t* result;                        // [target_size]: the cell of each number of a plane of the target
    int64_t cell_bytes, plane_bytes, sink_bytes;  // parts of the scratch memory: the cells, copies of small planes, the sink
    bool stream;                                  // write around the caches
    bool prefetch;                                // whether the next group is prefetched; its planes are adjacent
};

// Makes the groups [begin, end) of as many planes as there are lanes. `scratch` has as many bytes as the plan asks for.
using TransposedPlanesLoop = void(const TransposedPlanesJob& job, int64_t begin, int64_t end, void* scratch);
namespace avx2 {
TransposedPlanesLoop transposed_planes;
}

// grad_input[n,c,d,h,w] = sum over ow of (sum over oh of (sum over od of grad_output[n,c,od,oh,ow] * depth.scale[od]) * rows.scale[oh])
// * columns.scale[ow], for cells of `inner` adjacent numbers: one, or all channels of channels-last tensors, which then have one channel.
// With column_sums columns.scale has a value for each number of a cell.
struct VolumesJob {
    View<5> grad_output, grad_input;
    int64_t inner;
    AxisTable depth, rows, columns;
    GatherTable column_sums;  // the columns' sums, if it has blocks
    // The stage of rows and that of columns, where planes are made as one row of cells; else stages without blocks.
    GatherStage plane_stages[2];
    bool keeps_plane;  // make a plane, which has no gaps, and copy it to all planes in the same windows; else each row on its own
    // Parts of the scratch memory: the sums of a plane of windows, those of a row of windows or of a stage, a row of grad_input or a plane,
    // the sink.
    int64_t plane_bytes, sum_bytes, result_bytes, sink_bytes;
    bool stream;  // write around the caches
};

// Makes the planes [begin, end) of grad_input, counted over n, c, d. `scratch` has as many bytes as the plan asks for.
using VolumesLoop = void(const VolumesJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(VolumesLoop, volumes)

// grad_input[n,c,0,h,w] = sum over ow of (sum over oh of grad_output[n,c,0,oh,ow] * rows.scale[oh]) * columns.scale[ow], where channels are
// adjacent.
struct ChannelsJob {
    View<5> grad_output, grad_input;
    AxisTable rows, columns;
    int64_t tile_channels, tile_columns;  // how many channels and columns of windows have their sums kept at once
    bool apart;                           // whether each cell lies in one window at most
    int64_t sum_bytes;
    bool stream;  // write around the caches
};

// Makes the rows [begin, end) of grad_input, counted over n, h. `scratch` has sum_bytes.
using ChannelsLoop = void(const ChannelsJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(ChannelsLoop, average_channels)

// grad_input[n,c,0,h,w] = sum over ow of (sum over oh of grad_output[n,c,0,oh,ow] * rows.scale[oh]) * columns.scale[ow].
struct PlanesJob {
    static constexpr int kMaxLines = 8;
    static constexpr int64_t kMaxInner = 15;  // for cells whose windows do not slide; more channels fill vectors by themselves
    View<5> grad_output, grad_input;
    AxisTable rows, columns;
    // Columns of regular windows, window o over [o * step - padding, o * step - padding + kernel); step 0: any windows.
    int64_t step, kernel, padding;
    int64_t inner;  // adjacent numbers of a column: `padding` and the sizes of `columns` count these, the tables of `columns` cells
    GatherTable column_sums;   // sums of the columns that are not regular, if it has blocks
    int64_t rows_per_piece;    // how many equal rows are made at once
    int64_t lines, line_size;  // how many lines of sums are kept, at most kMaxLines, and their distance
    // Parts of the scratch memory: the sums, a row, the sink.
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;  // write around the caches
};

// Makes the rows [begin, end) of grad_input, counted over n, c, h. `scratch` has as many bytes as the plan asks for.
using PlanesLoop = void(const PlanesJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(PlanesLoop, average_planes)

// grad_input[n,c,d,h,w] = sum over ow of the sum of the rows (od, oh) of grad_output[n,c], at ow, for cells of `inner` adjacent real
// numbers.
struct RowsJob {
    static constexpr int64_t kBlock = 1024;  // elements that are copied at a time
    View<5> grad_output, grad_input;
    AxisTable rows;              // the terms of depth and rows
    const int64_t* row_offsets;  // for each of their terms, where the row begins in grad_output[n,c]
    AxisTable columns;
    int64_t copy_begin, copy_end;  // the source columns that are copied once each, to adjacent columns
    GatherTable column_sums;       // sums of a short row; without blocks there is none
    bool widens;                   // whether rows of half types are first converted to float, whose elements a machine can gather
    int64_t inner;
    int64_t sum_bytes, row_bytes, sink_bytes;  // parts of the scratch memory: sums of a row, twice a row, the sink
    bool stream;                               // write around the caches
    bool prefetch;                             // grad_output may come from memory
};

// Makes the rows [begin, end) of grad_input, counted over n, c, d, h. `scratch` has as many bytes as the plan asks for.
using RowsLoop = void(const RowsJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(RowsLoop, padded_rows)

}  // namespace torch_aclnn::kernels
