// torch_npu's cache of executors: a call with the shapes, dtypes, layouts and numbers of an earlier one needs no phase 1. The library has
// the executors; torch_npu computes the keys.
#pragma once

#include <ATen/core/Tensor.h>

#include "extension/aclnn/handles.h"

namespace torch_aclnn {

// Begins the key of a call on the calling thread. False if this torch_npu or the library has no cache for the entry point.
bool begin_cache_key(const std::string& entry_point, Stream stream);

void add_to_cache_key(const void* data, size_t size);
void add_to_cache_key(const at::Tensor& tensor);
void add_to_cache_key(at::IntArrayRef values);
inline void add_to_cache_key(Scalar scalar) {
    add_to_cache_key(&scalar.value, sizeof(scalar.value));
}
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void add_to_cache_key(Number number) {
    add_to_cache_key(&number, sizeof(number));
}

// Queues phase 2 with the executor that the library has for the key. False if it has none; then it keeps the one that phase 1 makes next.
bool run_cached(const std::string& entry_point, Phase2 phase2, Stream stream);

// Takes the key from the calling thread, so that no other operator's executor is kept under it.
void end_cache_key();

}  // namespace torch_aclnn
