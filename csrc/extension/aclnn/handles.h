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
using ScalarHandle = std::unique_ptr<aclScalar, HandleDeleter>;

// Describes a tensor: its storage, offset, strides and a format that follows from its rank; null for an undefined one. A private format,
// which strides do not describe, is turned into a base format first.
class TensorHandle {
   public:
    explicit TensorHandle(const at::Tensor& tensor);
    aclTensor* get() const { return handle_.get(); }

   private:
    at::Tensor in_base_format_;  // undefined if the tensor itself is
    std::unique_ptr<aclTensor, HandleDeleter> handle_;
};

// A scalar argument, which phase 1 takes as an aclScalar.
struct Scalar {
    double value;
};

// The tensor itself, or a copy of one that is in a private format.
at::Tensor in_base_format(const at::Tensor& tensor);

// RuntimeError for a tensor in a private format: a result cannot be written to a copy.
void check_base_format(const char* name, const at::Tensor& result);

inline TensorHandle make_handle(const at::Tensor& tensor) {
    return TensorHandle(tensor);
}
IntArrayHandle make_handle(at::IntArrayRef values);
ScalarHandle make_handle(Scalar scalar);
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Number make_handle(Number number) {
    return number;
}

// What phase 1 is passed: a handle's pointer, and a number as it is.
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Number raw(Number number) {
    return number;
}
template <class Handle, class = decltype(std::declval<const Handle&>().get())>
auto raw(const Handle& handle) {
    return handle.get();
}

}  // namespace torch_aclnn
