#include "kernels/max_unpool3d_backward/max_unpool3d_backward.h"

#include <ATen/ops/empty_like.h>

#include "extension/aclnn/launch.h"
#include "extension/autograd/max_unpool3d.h"
#include "extension/ops/common.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_max_unpool3d_backward.h"

namespace torch_aclnn {
namespace {

struct MaxUnpool3dBackward {
    static constexpr const char* kOp = "max_unpool3d_backward";
    static constexpr const char* kParameters = "Tensor grad_output, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding";
    using Signature = void(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef);

    const at::Tensor& grad_output;
    const at::Tensor& indices;
    c10::SymIntArrayRef output_size;
    at::IntArrayRef stride, padding;

    void check() const {
        check_same_device(kOp, {{"grad_output", grad_output}, {"indices", indices}});
        check_rank(kOp, "indices", indices.dim(), 4, 5);
        check_dtype(kOp, {"indices", indices}, {at::kLong, at::kInt});
        check_length(kOp, "output_size", output_size.size(), {3});
        check_values(kOp, "output_size", output_size, 1);
        check_countable(kOp, "output_size", output_size);
        check_length(kOp, "stride", stride.size(), {3});
        check_values(kOp, "stride", stride, 1);
        check_length(kOp, "padding", padding.size(), {3});
        check_values(kOp, "padding", padding, INT32_MIN);
        const c10::SymIntArrayRef sizes = indices.sym_sizes();
        c10::SmallVector<c10::SymInt, 5> expected(sizes.begin(), sizes.end() - 3);
        expected.append(output_size.begin(), output_size.end());
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected, " by indices and output_size");
    }

    // The kernels take int64. int32 is what max_pool3d gives on npu, but there its meta kernel says int64, so that a compiled graph holds
    // no conversion and brings int32 here.
    at::Tensor long_indices() const { return indices.scalar_type() == at::kInt ? indices.to(at::kLong) : indices; }
    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return empty_contiguous(grad_output, indices.sym_sizes()); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, indices.sym_sizes(), {{"grad_output", grad_output}, {"indices", indices}});
    }
    template <class Compute>
    at::Tensor record(const Compute& compute) const {
        return torch_aclnn::record<MaxUnpool3dBackwardNode>(compute, grad_output, indices);
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

void MaxUnpool3dBackward::run_npu(const at::Tensor& grad_input) const {
    static const EntryPoint<decltype(aclnnMaxUnpool3dBackwardGetWorkspaceSize)> entry_point("aclnnMaxUnpool3dBackward");
    // The entry point writes contiguous memory only. Of `self` only the shape is read, so a handle over the result stands for it.
    const at::Tensor result = grad_input.is_contiguous() ? grad_input : at::empty_like(grad_input, at::MemoryFormat::Contiguous);
    const at::Tensor indices = long_indices();
    call(entry_point, grad_output, result, indices, C10_AS_INTARRAYREF_SLOW(output_size), stride, padding, result);
    if (!result.is_same(grad_input)) grad_input.copy_(result);
}

void MaxUnpool3dBackward::run_cpu(const at::Tensor& grad_input) const {
    const at::Tensor indices = long_indices();
    const auto bad =
        kernels::max_unpool3d_backward(view<5>(kOp, grad_output), view<5>(kOp, indices), view<5>(kOp, grad_input), at::get_num_threads());
    const int64_t rank = indices.dim();
    TORCH_CHECK(!bad, kOp, ": indices: expected values below the product of output_size ", output_size, ", got ", bad->index,
                " at position ", at::IntArrayRef(bad->position + 5 - rank, rank));
}

TORCH_ACLNN_REGISTER(max_unpool3d_backward, MaxUnpool3dBackward)

}  // namespace
}  // namespace torch_aclnn
