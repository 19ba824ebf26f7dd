// The seed and the offset of random numbers in device memory.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/adapter/kinds.h"
#include "engine/aten/random/philox.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

// A seed or an offset in device memory: one number that is read when the operator runs.
inline at::Tensor read_number(const char* name, const aclTensor* handle) {
    at::Tensor number = read_tensor(name, handle);
    if (number.numel() != 1) refuse(name, "one element", c10::str("shape ", number.sizes()));
    return number;
}

// Returns the stream at the operator's offset within the graph.
inline PhiloxStream stream_at(const at::Tensor& seed, const at::Tensor& offset_of_graph, int64_t offset) {
    return {uint64_t(seed.item<int64_t>()), uint64_t(offset_of_graph.item<int64_t>()) + uint64_t(offset)};
}

namespace kind {
using Number = Kind<const aclTensor*, at::Tensor, const at::Tensor&, read_number>;
}  // namespace kind
}  // namespace torch_aclnn::host::aten
