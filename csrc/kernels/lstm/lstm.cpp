#include "kernels/lstm/lstm.h"

#include <algorithm>

#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {

// The loops have no scalar form. The cost of a unit, in copied elements.

void lstm_step(const LstmStep& step, int64_t batch, int thread_count) {
    LstmStepLoop* const loop = TORCH_ACLNN_LANES(std::max(isa(), Isa::baseline), lstm_step_rows);
    parallel_for(batch, 24 * step.units, thread_count, [&](int64_t begin, int64_t end) { loop(step, begin, end); });
}

void lstm_gradient(const LstmGradient& step, int64_t batch, int thread_count) {
    LstmGradientLoop* const loop = TORCH_ACLNN_LANES(std::max(isa(), Isa::baseline), lstm_gradient_rows);
    parallel_for(batch, 8 * step.units, thread_count, [&](int64_t begin, int64_t end) { loop(step, begin, end); });
}

}  // namespace torch_aclnn::kernels
