// Any machine of this architecture: SSE2 on x86-64, NEON on aarch64.
#include "kernels/vector/prelude.h"

#define KERNEL_ISA baseline
#define KERNEL_VECTOR_BYTES 16
#include "kernels/vector/loops.h"

const torch_aclnn::kernels::Loops torch_aclnn::kernels::baseline_loops = torch_aclnn::kernels::baseline::kLoops;
