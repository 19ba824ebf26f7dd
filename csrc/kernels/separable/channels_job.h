// What the loop of channels takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/axis_table.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,0,h,w] = sum over ow of (sum over oh of grad_output[n,c,0,oh,ow] * rows.scale[oh]) * columns.scale[ow], where channels are
// adjacent.
struct ChannelsJob {
    View<5> grad_output, grad_input;
    AxisTable rows, columns;
    int64_t tile_channels, tile_columns;  // the sums of so many channels are kept for so many columns of windows
    bool apart;                           // each cell lies in one window at most
    int64_t sum_bytes;
    bool stream;  // write around the caches
};

// Makes the rows [begin, end) of grad_input, counted over n, h. `scratch` has sum_bytes.
using ChannelsLoop = void(const ChannelsJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LANES(ChannelsLoop, average_channels)

}  // namespace torch_aclnn::kernels
