// Code shared by the gradients on planes; registration.h has the requirements for an operator.
#pragma once

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"
#include "kernels/support/plane_dims.h"
#include "kernels/support/view.h"

namespace torch_aclnn {

// Arguments, result and shapes of a gradient (N, C, plane) or (C, plane) that is linear in grad_output and has the size of the forward's
// input. The derived operator has more arguments behind these two.
template <class Row>
struct PlaneGradient {
    static constexpr int kDims = Row::kDims;
    static constexpr const char* kOp = Row::kOp;

    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;

    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return torch_aclnn::empty_result(grad_output, input_size); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    }

    // Returns the first dimension of a plane.
    int64_t first_of_plane() const { return static_cast<int64_t>(input_size.size()) - kDims; }
    void check_ranks() const {
        const int64_t rank = static_cast<int64_t>(input_size.size());
        check_rank(kOp, "input_size", rank, kDims + 1, kDims + 2);
        check_countable(kOp, "input_size", input_size);
        check_rank(kOp, "grad_output", grad_output.dim(), rank, rank);
    }
};

template <int kDims>
kernels::View<5> plane_view(const char* op, const at::Tensor& tensor) {
    kernels::View<5> result{tensor.mutable_data_ptr(), kernel_dtype(op, tensor.scalar_type()), {1, 1, 1, 1, 1}, {}};
    for (int64_t d = 0; d < tensor.dim(); ++d) {
        const int64_t place = kernels::place_among_five(d, tensor.dim(), kDims);
        result.size[place] = tensor.size(d);
        result.stride[place] = tensor.stride(d);
    }
    return result;
}

}  // namespace torch_aclnn
