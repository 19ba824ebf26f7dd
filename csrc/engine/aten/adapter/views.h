// Tensors on memory of the program, of which each call has one for each argument. Those that a call has left are used again: to make one
// anew takes three allocations, which cost more than all checks of an argument.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch_aclnn::host::aten {

// What at::from_blob returns, of a shape that ATen cannot change: a function that would give a result another one fails, and leaves the
// memory behind the view alone.
at::Tensor view_of(void* memory, size_t bytes, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);

// Keeps the views of a value that is about to be destroyed, so that later calls use them again.
void leave_views(at::Tensor& view);
inline void leave_views(std::optional<at::Tensor>& view) {
    if (view) leave_views(*view);
}
inline void leave_views(std::vector<at::Tensor>& views) {
    for (at::Tensor& view : views) leave_views(view);
}
void leave_views(auto&) {}

}  // namespace torch_aclnn::host::aten
