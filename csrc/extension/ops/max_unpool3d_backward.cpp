#include "kernels/max_unpool3d_backward/max_unpool3d_backward.h"

#include <ATen/ops/empty_like.h>

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"
#include "include/aclnnop/aclnn_max_unpool3d_backward.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "max_unpool3d_backward";

struct Arguments {
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
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected);
    }

    // The kernels take int64. int32 is what max_pool3d gives on npu, but there its meta kernel says int64, so that a compiled graph holds
    // no conversion and brings int32 here.
    at::Tensor long_indices() const { return indices.scalar_type() == at::kInt ? indices.to(at::kLong) : indices; }
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<decltype(aclnnMaxUnpool3dBackwardGetWorkspaceSize)> entry_point("aclnnMaxUnpool3dBackward");
    // The entry point writes contiguous memory only. Of `self` only the shape is read, so a handle over the result stands for it.
    const at::Tensor result = grad_input.is_contiguous() ? grad_input : at::empty_like(grad_input, at::MemoryFormat::Contiguous);
    const at::Tensor indices = a.long_indices();
    call(entry_point, make_handle(a.grad_output), make_handle(result), make_handle(indices),
         make_handle(C10_AS_INTARRAYREF_SLOW(a.output_size)), make_handle(a.stride), make_handle(a.padding), make_handle(result));
    if (!result.is_same(grad_input)) grad_input.copy_(result);
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    const at::Tensor indices = a.long_indices();
    const auto bad =
        kernels::max_unpool3d_backward(view<5>(kOp, a.grad_output), view<5>(kOp, indices), view<5>(kOp, grad_input), at::get_num_threads());
    const int64_t rank = a.indices.dim();
    TORCH_CHECK(!bad, kOp, ": indices: expected values below the product of output_size ", a.output_size, ", got ", bad->index,
                " at position ", at::IntArrayRef(bad->position + 5 - rank, rank));
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_output, const at::Tensor& indices, c10::SymIntArrayRef output_size, at::IntArrayRef stride,
                      at::IntArrayRef padding) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, indices, output_size, stride, padding};
    a.check();
    const at::Tensor grad_input = empty_contiguous(grad_output, indices.sym_sizes());
    run_unless_empty<run>(a, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_output, const at::Tensor& indices, c10::SymIntArrayRef output_size, at::IntArrayRef stride,
          at::IntArrayRef padding, const at::Tensor& out) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, indices, output_size, stride, padding};
    a.check();
    prepare_out(kOp, out, grad_output, indices.sym_sizes(), {{"grad_output", grad_output}, {"indices", indices}});
    run_unless_empty<run>(a, out);
}

TORCH_ACLNN_REGISTER(max_unpool3d_backward)

}  // namespace
}  // namespace torch_aclnn
