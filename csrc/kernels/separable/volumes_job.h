// What the loop of volumes takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/separable/gather_table.h"
#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,d,h,w] = sum over ow of (sum over oh of (sum over od of grad_output[n,c,od,oh,ow] * depth.scale[od]) * rows.scale[oh])
// * columns.scale[ow], for cells of `inner` adjacent numbers: one, or all channels of channels-last tensors, which then have one channel.
// With column_sums columns.scale has a value for each number of a cell.
struct VolumesJob {
    View<5> grad_output, grad_input;
    int64_t inner;
    AxisTable depth, rows, columns;
    GatherTable column_sums;  // of columns, if it has blocks
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

}  // namespace torch_aclnn::kernels
