// What the loop of batch norm takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/loop.h"

namespace torch_aclnn::kernels {

// grad_input = ((grad_out - mean_dy) - (input - mean) * slope) * scale
struct BatchNormJob {
    static constexpr int64_t kBlock = 1024;  // elements that are computed at a time
    Loop loop;
    int64_t channel_stride[Loop::kMaxRank];  // strides of an element's channel; the last is 1 if a row runs over the channels
    LoopOperand grad_out, input, grad_input;
    const void *mean, *mean_dy, *slope, *scale;  // per channel, in float32, or in float64 if input is float64
    bool stream;                                 // write around the caches
    bool buffered;                               // whether a block's results are kept until it is done, because they overwrite an input
};

// Computes the elements [begin, end) of the loop. `scratch` has as many bytes as the plan asks for.
using BatchNormLoop = void(const BatchNormJob& job, int64_t begin, int64_t end, void* scratch);
TORCH_ACLNN_DECLARE_LOOP(BatchNormLoop, batch_norm)

}  // namespace torch_aclnn::kernels
