// Buffers as tensors, in the types in which Gloo computes.
#pragma once

#include <ATen/ATen.h>

#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

at::Tensor bytes_at(const void* data, size_t bytes);
at::Tensor elements_at(const void* data, uint64_t count, HcclDataType type);

// Whether Gloo can compute with the elements themselves.
bool computes_in_place(const at::Tensor& elements);
// Returns what a reduction computes with: Gloo has no 16-bit and no unsigned integers but uint8, and halves are summed in float32 and
// rounded once.
at::Tensor as_computed(const at::Tensor& elements, HcclReduceOp op);
// Returns the same in memory of its own.
at::Tensor to_computed(const at::Tensor& elements, HcclReduceOp op);
// Writes the result of a reduction of such tensors.
void from_computed(const at::Tensor& computed, const at::Tensor& elements, HcclReduceOp op);

}  // namespace torch_aclnn::host
