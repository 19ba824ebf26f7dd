// Machines with AVX-512.
#if defined(__x86_64__)
#include "kernels/vector/prelude.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define KERNEL_ISA avx512
#define KERNEL_VECTOR_BYTES 64
#include "kernels/vector/loops.h"

const torch_aclnn::kernels::Loops torch_aclnn::kernels::avx512_loops = torch_aclnn::kernels::avx512::kLoops;
#endif
