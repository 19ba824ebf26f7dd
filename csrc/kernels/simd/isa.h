// Which instruction set the kernels of this process use.
#pragma once

#include "kernels/support/api.h"

namespace torch_aclnn::kernels {

// A machine that runs one of them runs those before it, too, but slower; `scalar` is the plain form that the tests compare with.
enum class Isa { scalar, baseline, avx2, avx512 };

// The best one of this machine, or the one that the environment variable TORCH_ACLNN_ISA names; decided at the first call.
// Throws std::invalid_argument if the variable names none, or one that this machine lacks.
TORCH_ACLNN_KERNELS_API Isa isa();

// Returns the same for a loop that a wider one than `widest` does not make faster; the environment variable is obeyed.
Isa isa_up_to(Isa widest);

// "scalar", "baseline", "avx2" or "avx512".
TORCH_ACLNN_KERNELS_API const char* isa_name();

}  // namespace torch_aclnn::kernels
