// What the gradients of the adaptive average poolings have in common; registration.h tells what is asked of an operator.
#pragma once

#include "extension/ops/common.h"

namespace torch_aclnn {

struct AdaptiveAvgPoolBackward {
    static constexpr const char* kParameters = "Tensor grad_output, SymInt[] input_size";
    using Signature = void(const at::Tensor&, c10::SymIntArrayRef);

    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;

    // `plane_dims` dimensions come after C.
    void check_arguments(const char* op, int64_t plane_dims) const;
    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return torch_aclnn::empty_result(grad_output, input_size); }
};

}  // namespace torch_aclnn
