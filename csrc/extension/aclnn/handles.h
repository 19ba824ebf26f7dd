// Owners of the C handles that an entry point takes. They must live until phase 2 has been called.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

struct HandleDeleter {
    void operator()(aclTensor* tensor) const;
    void operator()(aclIntArray* array) const;
    void operator()(aclScalar* scalar) const;
};
using TensorHandle = std::unique_ptr<aclTensor, HandleDeleter>;
using IntArrayHandle = std::unique_ptr<aclIntArray, HandleDeleter>;
using ScalarHandle = std::unique_ptr<aclScalar, HandleDeleter>;

// Describes the tensor: its storage, offset, strides and a format that follows from its rank.
TensorHandle make_handle(const at::Tensor& tensor);
IntArrayHandle make_handle(at::IntArrayRef values);
ScalarHandle make_handle(double value);

}  // namespace torch_aclnn
