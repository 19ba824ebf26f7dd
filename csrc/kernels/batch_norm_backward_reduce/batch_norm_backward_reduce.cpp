#include "kernels/batch_norm_backward_reduce/batch_norm_backward_reduce.h"

#include "kernels/batch_norm_backward_reduce/job.h"
#include "kernels/support/parallel.h"

namespace torch_aclnn::kernels {

void batch_norm_backward_reduce(const View<3>& grad_out, const View<3>& input, const double* mean, double* sum_dy, double* sum_dy_xmu,
                                int thread_count) {
    const BatchNormSumsJob job{grad_out, input, mean, sum_dy, sum_dy_xmu};
    BatchNormSumsLoop* const loop = TORCH_ACLNN_LOOP(batch_norm_sums);
    parallel_for(input.size[1], kCostOfSum * input.size[0] * input.size[2], thread_count,
                 [&](int64_t begin, int64_t end) { loop(job, begin, end); });
}

}  // namespace torch_aclnn::kernels
