// The element-wise part of batch norm's backward, one element at a time.
#include "kernels/batch_norm_elemt_backward/job.h"
#include "kernels/scalar/position.h"

namespace torch_aclnn::kernels::scalar {

template <class S>
static S value_at(const LoopOperand& operand, const Position& position) {
    S value{};
    visit_floating(operand.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        value = static_cast<S>(static_cast<const T*>(operand.data)[position.offset(operand.stride)]);
    });
    return value;
}

template <class S>
static void normalise(const BatchNormJob& job, int64_t begin, int64_t end) {
    for (int64_t element = begin; element < end; ++element) {
        const Position at(job.loop, element);
        const auto of_channel = [&](const void* values) { return static_cast<const S*>(values)[at.offset(job.channel_stride)]; };
        const S centred_dy = value_at<S>(job.grad_out, at) - of_channel(job.mean_dy);
        const S centred = value_at<S>(job.input, at) - of_channel(job.mean);
        const S result = (centred_dy - centred * of_channel(job.slope)) * of_channel(job.scale);
        visit_floating(job.grad_input.dtype, [&](auto tag) {
            using T = typename decltype(tag)::type;
            static_cast<T*>(job.grad_input.data)[at.offset(job.grad_input.stride)] = static_cast<T>(result);
        });
    }
}

void batch_norm(const BatchNormJob& job, int64_t begin, int64_t end, void*) {
    const auto run = job.input.dtype == DType::float64 ? normalise<double> : normalise<float>;
    run(job, begin, end);
}

}  // namespace torch_aclnn::kernels::scalar
