// One call of an entry point: phase 1 on the calling thread, so that a refusal is an exception at the call; phase 2 on torch_npu's queue.
#pragma once

#include <ATen/core/Tensor.h>

#include "extension/aclnn/errors.h"
#include "extension/aclnn/handles.h"

namespace torch_aclnn {

// Queues phase 2 on the current stream of the current device and keeps the workspace alive until it has been launched.
void launch(const char* entry_point, Phase2 phase2, uint64_t workspace_size, aclOpExecutor* executor);

// An uninitialised, contiguous tensor on the NPU, of the dtype and device of `like`. torch_npu's own way, which is shorter than
// at::empty's.
at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes);

// Arguments that are not handles pass through as they are.
template <class Argument>
Argument raw(Argument argument) {
    return argument;
}
inline const aclTensor* raw(const TensorHandle& handle) {
    return handle.get();
}
inline const aclIntArray* raw(const IntArrayHandle& handle) {
    return handle.get();
}

// An output's handle; entry points take those without const.
struct Output {
    TensorHandle handle;
};
inline aclTensor* raw(const Output& output) {
    return output.handle.get();
}

template <class... Parameters, class... Arguments>
void call(const EntryPoint<Parameters...>& entry_point, const Arguments&... arguments) {
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    check_status(entry_point.name, entry_point.phase1(raw(arguments)..., &workspace_size, &executor));
    launch(entry_point.name, entry_point.phase2, workspace_size, executor);
}

}  // namespace torch_aclnn
