// What phase 1 of an entry point takes for an argument, and what keeps it alive until phase 2 has been called.
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
using IntArrayHandle = std::unique_ptr<aclIntArray, HandleDeleter>;
using TensorHandle = std::unique_ptr<aclTensor, HandleDeleter>;
using ScalarHandle = std::unique_ptr<aclScalar, HandleDeleter>;

// A scalar argument, which phase 1 takes as an aclScalar.
struct Scalar {
    double value;
};

// Whether the tensor is in a private format, which strides do not describe.
bool is_in_private_format(const at::Tensor& tensor);
bool is_in_private_format(const auto&) {
    return false;
}

// Returns the argument itself, or a copy of a tensor that is in a private format.
at::Tensor in_base_format(const at::Tensor& tensor);
template <class Argument>
Argument in_base_format(const Argument& argument) {
    return argument;
}

// RuntimeError for a tensor in a private format: a result cannot be written to a copy.
void check_base_format(const char* name, const at::Tensor& result);

// Describes a tensor in a base format: its storage, offset, strides and a format that follows from its rank; null for an undefined one.
TensorHandle make_handle(const at::Tensor& tensor);
IntArrayHandle make_handle(at::IntArrayRef values);
ScalarHandle make_handle(Scalar scalar);
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Number make_handle(Number number) {
    return number;
}

// Returns the argument that is passed to phase 1: the pointer of a handle, or a number itself.
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Number raw(Number number) {
    return number;
}
template <class Handle, class = decltype(std::declval<const Handle&>().get())>
auto raw(const Handle& handle) {
    return handle.get();
}

}  // namespace torch_aclnn
