// Any machine of this architecture: SSE2 on x86-64, NEON on aarch64.
#include "kernels/vector/prelude.h"

#define KERNEL_ISA baseline
#define KERNEL_VECTOR_BYTES 16
#include "kernels/vector/average_pool_channels.h"
#include "kernels/vector/average_pool_planes.h"
#include "kernels/vector/batch_norm.h"
#include "kernels/vector/max_unpool.h"
#include "kernels/vector/replication_pad.h"

namespace torch_aclnn::kernels {

const Loops baseline_loops{baseline::average_pool_planes, baseline::average_pool_channels, baseline::replication_pad, baseline::max_unpool,
                           baseline::batch_norm};

}  // namespace torch_aclnn::kernels
