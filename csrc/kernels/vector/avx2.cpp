// Machines with AVX2.
#if defined(__x86_64__)
#include "kernels/vector/prelude.h"

#pragma GCC target("avx2,f16c")
#define KERNEL_ISA avx2
#define KERNEL_VECTOR_BYTES 32
#include "kernels/vector/average_pool_channels.h"
#include "kernels/vector/average_pool_planes.h"
#include "kernels/vector/batch_norm.h"
#include "kernels/vector/max_unpool.h"
#include "kernels/vector/replication_pad.h"

namespace torch_aclnn::kernels {

const Loops avx2_loops{avx2::average_pool_planes, avx2::average_pool_channels, avx2::replication_pad, avx2::max_unpool, avx2::batch_norm};

}  // namespace torch_aclnn::kernels
#endif
