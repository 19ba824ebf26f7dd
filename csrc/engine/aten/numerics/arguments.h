// Conversions between the argument conventions of the entry points and those of ATen.
#pragma once

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <c10/util/DimVector.h>

namespace torch_aclnn::host::aten {

// Returns a number as ATen's operators on two tensors take it: it yields to the other operand's dtype.
inline at::Tensor wrapped(const at::Scalar& number) {
    return at::native::wrapped_scalar_tensor(number);
}

// An empty list of dimensions means all of them. ATen mostly agrees, but not everywhere.
inline at::OptionalIntArrayRef all_if_empty(at::IntArrayRef dims) {
    return dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims);
}

// Returns every dimension for an empty list, where ATen would reduce none.
inline at::DimVector every_dim_if_empty(at::IntArrayRef dims, const at::Tensor& tensor) {
    at::DimVector every(dims.begin(), dims.end());
    for (int64_t d = 0; dims.empty() && d < tensor.dim(); d++) every.push_back(d);
    return every;
}

// Masks may come as bytes.
inline at::Tensor as_mask(const at::Tensor& mask) {
    return mask.to(at::kBool);
}

}  // namespace torch_aclnn::host::aten
