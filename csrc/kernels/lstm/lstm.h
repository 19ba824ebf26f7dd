// What an LSTM computes of each unit, between the products of its steps.
#pragma once

#include <cstdint>

#include "kernels/simd/loops.h"

namespace torch_aclnn::kernels {

// All are {batch, units} without gaps, and no output is an input; the gates {batch, 4, units}, in torch's order: i, f, j, o.
struct LstmStep {
    int64_t units;
    const float *gates, *c_before;  // the gates before their activations
    float *i, *j, *f, *o, *c, *tanh_c, *h;
};

// of_x is the gradient of x. The output of the step is h too, so its gradient is added to that of h.
struct LstmGradient {
    int64_t units;
    const float *i, *j, *f, *o, *tanh_c, *c_before, *of_h, *of_output, *of_c;
    float *of_gates, *of_c_before;
};

TORCH_ACLNN_KERNELS_API void lstm_step(const LstmStep& step, int64_t batch, int thread_count);
TORCH_ACLNN_KERNELS_API void lstm_gradient(const LstmGradient& step, int64_t batch, int thread_count);

// Computes the rows [begin, end) of the batch.
using LstmStepLoop = void(const LstmStep& step, int64_t begin, int64_t end);
using LstmGradientLoop = void(const LstmGradient& step, int64_t begin, int64_t end);
TORCH_ACLNN_DECLARE_LANES(LstmStepLoop, lstm_step_rows)
TORCH_ACLNN_DECLARE_LANES(LstmGradientLoop, lstm_gradient_rows)

}  // namespace torch_aclnn::kernels
