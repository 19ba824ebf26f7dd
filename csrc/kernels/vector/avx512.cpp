// Machines with AVX-512.
#if defined(__x86_64__)
#include "kernels/vector/prelude.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define KERNEL_ISA avx512
#define KERNEL_VECTOR_BYTES 64
#include "kernels/vector/average_pool_channels.h"
#include "kernels/vector/average_pool_planes.h"
#include "kernels/vector/batch_norm.h"
#include "kernels/vector/max_unpool.h"
#include "kernels/vector/replication_pad.h"

namespace torch_aclnn::kernels {

const Loops avx512_loops{avx512::average_pool_planes, avx512::average_pool_channels, avx512::replication_pad, avx512::max_unpool,
                         avx512::batch_norm};

}  // namespace torch_aclnn::kernels
#endif
