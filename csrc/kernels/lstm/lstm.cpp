#include "kernels/lstm/lstm.h"

#include <algorithm>

#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {
namespace {

// Of a unit, as a multiple of a copied element's.
constexpr int64_t kCostOfStep = 24, kCostOfGradient = 8;

// The loops have no scalar form.
Isa isa_of_lanes() {
    return std::max(isa(), Isa::baseline);
}

}  // namespace

void lstm_step(const LstmStep& step, int64_t batch, int thread_count) {
    LstmStepLoop* const loop = TORCH_ACLNN_LANES(isa_of_lanes(), lstm_step_rows);
    parallel_for(batch, kCostOfStep * step.units, thread_count, [&](int64_t begin, int64_t end) { loop(step, begin, end); });
}

void lstm_gradient(const LstmGradient& step, int64_t batch, int thread_count) {
    LstmGradientLoop* const loop = TORCH_ACLNN_LANES(isa_of_lanes(), lstm_gradient_rows);
    parallel_for(batch, kCostOfGradient * step.units, thread_count, [&](int64_t begin, int64_t end) { loop(step, begin, end); });
}

}  // namespace torch_aclnn::kernels
