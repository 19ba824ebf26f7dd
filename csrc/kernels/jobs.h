// What an operator's file prepares once per call, and what the loops of each instruction set take. Plain data: the loops are compiled for
// several instruction sets, so nothing in here may be a function that the linker could take from the wrong one.
#pragma once

#include <cstdint>

#include "kernels/isa.h"
#include "kernels/view.h"

namespace torch_aclnn::kernels {

// One axis of the windows: input index i lies in the windows [first[i], last[i]); [i, run_end[i]) is a run of indices in the same windows.
struct AxisTable {
    int64_t in, out;
    const int64_t* first;
    const int64_t* last;
    const int64_t* run_end;
    const void* scale;  // per window, in the type of the sums; null means ones
};

// grad_input[n,c,h,w] = sum over ow of (sum over oh of grad_output[n,c,oh,ow] * rows.scale[oh]) * columns.scale[ow].
struct AveragePoolJob {
    static constexpr int kMostLines = 8;
    static constexpr int64_t kBlock = 512;  // elements that the channels-last form writes at a time, and up to one column more
    View<4> grad_output, grad_input;
    AxisTable rows, columns;
    // Columns of regular windows, window o over [o * step - padding, o * step - padding + kernel); step 0: any windows.
    int64_t step, kernel, padding;
    // Each row lies in one window, so that whole planes can be scaled at once, by a scale per window; null: not so.
    const void* plane_scale;
    int64_t rows_per_piece;    // how many rows that are alike are made at once
    int64_t lines, line_size;  // how many lines of sums are kept, kMostLines at most, and how far they are apart
    // The channels-last form keeps the sums of so many channels for so many columns of windows.
    int64_t tile_channels, tile_columns;
    // Parts of the scratch memory: the sums, a row, the sink.
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;  // write around the caches
};

// grad_input[n,c,h,w] = sum over ow of (sum over oh of grad_output[n,c,oh,ow]), for cells of `inner` adjacent real numbers.
struct ReplicationPadJob {
    static constexpr int64_t kBlock = 1024;  // elements that are copied at a time
    View<4> grad_output, grad_input;         // strides count real numbers
    AxisTable rows, columns;                 // without scales
    int64_t inner;
    int64_t sum_bytes, row_bytes, sink_bytes;
    bool stream;
};

// The dimensions of a view in the order in which a loop takes them; the last one is the row.
struct Loop {
    static constexpr int kMaxRank = 8;
    int rank;
    int64_t size[kMaxRank];
};

struct LoopOperand {
    void* data;
    DType dtype;
    int64_t stride[Loop::kMaxRank];
};

// out[i] = plane(i)[indices[i]]; the plane moves with each dimension of the loop, by its stride there.
struct MaxUnpoolJob {
    Loop loop;
    int64_t element_size;
    LoopOperand indices, out, plane;
    int64_t logical_stride[Loop::kMaxRank];  // the linear position of an element, in the order of `indices`
    int64_t plane_size;
    int64_t element_stride;                              // between neighbours of the plane, or 0 if it has to be taken apart:
    int64_t plane_height, plane_width, plane_stride[3];  // for depth, row and column
    bool prefetch;                                       // the planes are too large for the caches
};

// The element that lies first in the order of `indices` and whose index is outside its plane; linear is -1 if there is none.
struct FirstBad {
    int64_t linear, index;
};

// grad_input = ((grad_out - mean_dy) - (input - mean) * slope) * scale
struct BatchNormJob {
    static constexpr int64_t kBlock = 1024;  // elements that are computed at a time
    Loop loop;
    int64_t channel_stride[Loop::kMaxRank];  // the channel of an element; 1 in the last place: the row runs over the channels
    LoopOperand grad_out, input, grad_input;
    const void *mean, *mean_dy, *slope, *scale;  // per channel, in float32, or in float64 if input is float64
    int64_t sink_bytes;
    bool stream;
};

// The loops of one instruction set. Each does the rows [begin, end) of a job; `scratch` has as many bytes as the job asked for.
struct Loops {
    void (*average_pool_planes)(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch);    // rows over n, c, h
    void (*average_pool_channels)(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch);  // over n, h; null: none
    void (*replication_pad)(const ReplicationPadJob& job, int64_t begin, int64_t end, void* scratch);     // over n, c, h
    FirstBad (*max_unpool)(const MaxUnpoolJob& job, int64_t begin, int64_t end);                          // elements of the loop
    void (*batch_norm)(const BatchNormJob& job, int64_t begin, int64_t end, void* scratch);               // elements of the loop
};

const Loops& loops();  // of isa()

extern const Loops scalar_loops, baseline_loops, avx2_loops, avx512_loops;

}  // namespace torch_aclnn::kernels
