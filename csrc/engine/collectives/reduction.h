// Reductions over the ranks of a c10d::Backend. Messages have the type of the elements. Sums are computed in the type that tensors.h
// states, in the order of the ranks, and rounded once.
#pragma once

#include "engine/collectives/blocks.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

// Gives each other rank its block of `sent`, and reduces what they give and this rank's own block to `result`, which may be that block.
void reduce_scatter_blocks(c10d::Backend& backend, const Blocks& sent, const at::Tensor& result, HcclReduceOp op);
// Reduces one-dimensional elements in place. Each rank sends all of them to all others, which takes one step, but many bytes if there are
// many elements or ranks.
void all_reduce_all_at_once(c10d::Backend& backend, const at::Tensor& elements, HcclReduceOp op);
// Reduces one-dimensional elements in place, where each rank reduces a part and sends it to the others.
void all_reduce_in_parts(c10d::Backend& backend, const at::Tensor& elements, HcclReduceOp op);

}  // namespace torch_aclnn::host
