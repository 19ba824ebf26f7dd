// What a body reads of its inputs and uses as a position. ATen's kernels trust some of it.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_aclnn::host::aten {

// Refuses a value outside [lowest, bound), with its position, as hardware reports it: 507015 at the next synchronisation. Pass -bound as
// the lowest one where a negative index counts from the end, which a page or a program that ran on hardware must show.
void require_range(const char* name, const at::Tensor& values, int64_t lowest, int64_t bound);

inline void require_indices(const char* name, const at::Tensor& indices, int64_t bound) {
    require_range(name, indices, 0, bound);
}

// Refuses numbers that are infinite or none, and zeros, in the same way.
void require_finite(const char* name, const at::Tensor& values);
void require_nonzero(const char* name, const at::Tensor& values);

}  // namespace torch_aclnn::host::aten
