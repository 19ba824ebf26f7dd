// Batch norm's sums, one element at a time.
#include "kernels/batch_norm_backward_reduce/job.h"

namespace torch_aclnn::kernels::scalar {

constexpr int kSums = BatchNormSumsJob::kSums;

static double total(const double (&sums)[kSums]) {
    double all = 0;
    for (double sum : sums) all += sum;
    return all;
}

template <class T>
static void sum_channel(const BatchNormSumsJob& job, int64_t c) {
    double dy_sums[kSums] = {}, dy_xmu_sums[kSums] = {};
    for (int64_t n = 0; n < job.input.size[0]; ++n) {
        const T* dy = static_cast<const T*>(job.grad_out.data) + n * job.grad_out.stride[0] + c * job.grad_out.stride[1];
        const T* x = static_cast<const T*>(job.input.data) + n * job.input.stride[0] + c * job.input.stride[1];
        for (int64_t i = 0; i < job.input.size[2]; ++i) {
            const double gradient = static_cast<double>(dy[i]), centred = static_cast<double>(x[i]) - job.mean[c];
            dy_sums[i % kSums] += gradient;
            dy_xmu_sums[i % kSums] += gradient * centred;
        }
    }
    job.sum_dy[c] = total(dy_sums);
    job.sum_dy_xmu[c] = total(dy_xmu_sums);
}

void batch_norm_sums(const BatchNormSumsJob& job, int64_t begin, int64_t end) {
    visit_floating(job.input.dtype, [&](auto tag) {
        for (int64_t c = begin; c < end; ++c) sum_channel<typename decltype(tag)::type>(job, c);
    });
}

}  // namespace torch_aclnn::kernels::scalar
