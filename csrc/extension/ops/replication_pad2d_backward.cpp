#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"
#include "include/aclnnop/aclnn_pad2d_backward.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "replication_pad2d_backward";

struct Arguments {
    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;
    c10::SymIntArrayRef padding;  // left, right, top, bottom

    void check() const {
        const int64_t rank = static_cast<int64_t>(input_size.size());
        check_rank(kOp, "input_size", rank, 3, 4);
        check_countable(kOp, "input_size", input_size);
        check_rank(kOp, "grad_output", grad_output.dim(), rank, rank);
        check_length(kOp, "padding", padding.size(), {4});
        check_values(kOp, "padding", padding, INT32_MIN);
        check_dtype(kOp, {"grad_output", grad_output},
                    {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kComplexFloat, at::kComplexDouble});
        c10::SmallVector<c10::SymInt, 4> expected(input_size.begin(), input_size.end());
        for (int64_t d = rank == 4 ? 1 : 0; d < rank; ++d)
            TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": input_size: expected no dimension of size 0 but N, got ", input_size);
        expected[rank - 2] += padding[2] + padding[3];
        expected[rank - 1] += padding[0] + padding[1];
        for (int64_t d = rank - 2; d < rank; ++d)
            TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": padding: expected a padded size of at least 1, got ", padding, " for ",
                            input_size);
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected);
    }
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<decltype(aclnnReplicationPad2dBackwardGetWorkspaceSize)> entry_point("aclnnReplicationPad2dBackward");
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, make_handle(a.grad_output), make_handle(grad_input), make_handle(C10_AS_INTARRAYREF_SLOW(a.padding)),
         make_handle(grad_input));
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    const at::IntArrayRef padding = C10_AS_INTARRAYREF_SLOW(a.padding);
    kernels::replication_pad2d_backward(view<4>(kOp, a.grad_output), view<4>(kOp, grad_input), padding[0], padding[2],
                                        at::get_num_threads());
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, c10::SymIntArrayRef padding) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, input_size, padding};
    a.check();
    const at::Tensor grad_input = empty_result(grad_output, input_size);
    run_unless_empty<run>(a, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, c10::SymIntArrayRef padding, const at::Tensor& out) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, input_size, padding};
    a.check();
    prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    run_unless_empty<run>(a, out);
}

TORCH_ACLNN_REGISTER(replication_pad2d_backward)

}  // namespace
}  // namespace torch_aclnn
