// Machines with AVX2.
#if defined(__x86_64__)
#include "kernels/vector/prelude.h"

#pragma GCC target("avx2,f16c")
#define KERNEL_ISA avx2
#define KERNEL_VECTOR_BYTES 32
#include "kernels/vector/loops.h"

const torch_aclnn::kernels::Loops torch_aclnn::kernels::avx2_loops = torch_aclnn::kernels::avx2::kLoops;
#endif
