// Owners of the C handles that an entry point takes. They are freed when the call is over, whatever its outcome.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

struct HandleDeleter {
    void operator()(const aclTensor* tensor) const;
    void operator()(const aclIntArray* array) const;
};
using TensorHandle = std::unique_ptr<aclTensor, HandleDeleter>;
using IntArrayHandle = std::unique_ptr<aclIntArray, HandleDeleter>;

// Describes the tensor: its storage, offset, strides and a format that follows from its rank. Undefined gives a null handle.
TensorHandle make_handle(const at::Tensor& tensor);
IntArrayHandle make_handle(at::IntArrayRef values);

}  // namespace torch_aclnn
