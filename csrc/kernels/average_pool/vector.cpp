// Average pooling backward in lanes.
#include "kernels/average_pool/channels.h"
#include "kernels/average_pool/planes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

void average_pool_planes(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) { AveragePoolPlanes<decltype(element)>(job, scratch).run(begin, end); });
}

void average_pool_channels(const AveragePoolJob& job, int64_t begin, int64_t end, void* scratch) {
    visit_sums(job.grad_input.dtype, [&](auto element) {
        AveragePoolChannels<decltype(element)> loop(job, scratch);
        job.stream ? loop.stream(begin, end) : loop.run(begin, end);
    });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
