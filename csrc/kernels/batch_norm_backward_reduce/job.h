// What the loop of batch norm's sums takes. Plain data, because it is compiled for several instruction sets.
#pragma once

#include "kernels/simd/loops.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// The order of the additions is the same in all forms: element i of a row goes to sum i % kSums, of which each channel has its own.
struct BatchNormSumsJob {
    static constexpr int kSums = 8;
    View<3> grad_out, input;
    const double* mean;
    double *sum_dy, *sum_dy_xmu;
};

// Computes the channels [begin, end).
using BatchNormSumsLoop = void(const BatchNormSumsJob& job, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LOOP(BatchNormSumsLoop, batch_norm_sums)

}  // namespace torch_aclnn::kernels
