#include "kernels/replication_pad2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "replication_pad2d_backward";

struct Arguments {
    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;
    c10::SymIntArrayRef padding;  // left, right, top, bottom
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<const aclTensor*, const aclTensor*, const aclIntArray*, aclTensor*> entry_point(
        "aclnnReplicationPad2dBackward");
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, make_handle(a.grad_output), make_handle(grad_input), make_handle(C10_AS_INTARRAYREF_SLOW(a.padding)),
         Output{make_handle(grad_input)});
}

void run_meta(const Arguments& a, const at::Tensor&) {
    const int64_t rank = static_cast<int64_t>(a.input_size.size());
    check_rank(kOp, "input_size", rank, 3, 4);
    check_rank(kOp, "grad_output", a.grad_output.dim(), rank, rank);
    TORCH_CHECK(a.padding.size() == 4, kOp, ": padding: expected 4 values, got ", a.padding.size());
    check_dtype(kOp, {"grad_output", a.grad_output},
                {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kComplexFloat, at::kComplexDouble});
    std::vector<c10::SymInt> expected(a.input_size.begin(), a.input_size.end());
    for (int64_t d = rank == 4 ? 1 : 0; d < rank; ++d)
        TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": input_size: expected no dimension of size 0 but N, got ", a.input_size);
    expected[rank - 2] += a.padding[2] + a.padding[3];
    expected[rank - 1] += a.padding[0] + a.padding[1];
    for (int64_t d = rank - 2; d < rank; ++d)
        TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": padding: expected a padded size of at least 1, got ", a.padding, " for ",
                        a.input_size);
    check_size(kOp, "grad_output", a.grad_output.sym_sizes(), expected);
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    run_meta(a, grad_input);
    const at::IntArrayRef padding = C10_AS_INTARRAYREF_SLOW(a.padding);
    kernels::replication_pad2d_backward(view<4>(kOp, a.grad_output), view<4>(kOp, grad_input), padding[0], padding[2],
                                        at::get_num_threads());
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, c10::SymIntArrayRef padding) {
    const c10::OptionalDeviceGuard guard(grad_output.device());
    const at::Tensor grad_input = empty_result(grad_output, input_size);
    run({grad_output, input_size, padding}, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, c10::SymIntArrayRef padding, const at::Tensor& out) {
    const c10::OptionalDeviceGuard guard(grad_output.device());
    prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    run({grad_output, input_size, padding}, out);
}

TORCH_ACLNN_REGISTER(replication_pad2d_backward)

}  // namespace
}  // namespace torch_aclnn
