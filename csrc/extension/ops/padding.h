// What the gradients of the 2-D paddings have in common; registration.h tells what is asked of an operator.
#pragma once

#include "extension/ops/common.h"

namespace torch_aclnn {

struct PaddingBackward {
    static constexpr const char* kParameters = "Tensor grad_output, SymInt[] input_size, SymInt[4] padding";
    using Signature = void(const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef);

    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;
    c10::SymIntArrayRef padding;  // left, right, top, bottom

    void check_arguments(const char* op) const;
    // Calls compute(grad_output, grad_input) in a data type that the documents list, which they do not do for bfloat16: float32 for that,
    // rounded once.
    template <class Compute>
    void with_listed_dtype(const at::Tensor& grad_input, const Compute& compute) const {
        if (grad_input.scalar_type() != at::kBFloat16) return compute(grad_output, grad_input);
        const at::Tensor wide_grad_output = grad_output.to(at::kFloat);
        const at::Tensor wide_grad_input = empty_contiguous(wide_grad_output, input_size);
        compute(wide_grad_output, wide_grad_input);
        grad_input.copy_(wide_grad_input);
    }
    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return torch_aclnn::empty_result(grad_output, input_size); }
};

}  // namespace torch_aclnn
