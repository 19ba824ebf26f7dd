#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"
#include "include/aclnnop/aclnn_adaptive_avg_pool2d_backward.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "adaptive_avg_pool2d_backward";

struct Arguments {
    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;

    void check() const {
        const int64_t rank = static_cast<int64_t>(input_size.size());
        check_rank(kOp, "input_size", rank, 3, 4);
        check_countable(kOp, "input_size", input_size);
        check_rank(kOp, "grad_output", grad_output.dim(), rank, rank);
        check_dtype(kOp, {"grad_output", grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
        const c10::SymIntArrayRef sizes = grad_output.sym_sizes();
        c10::SmallVector<c10::SymInt, 4> expected(input_size.begin(), input_size.end() - 2);
        expected.append(sizes.end() - 2, sizes.end());
        check_size(kOp, "grad_output", sizes, expected);
        for (int64_t d = rank - 2; d < rank; ++d)
            TORCH_SYM_CHECK(sizes[d].sym_ge(1), kOp, ": grad_output: expected at least one row and column, got ", sizes);
    }
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<decltype(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize)> entry_point("aclnnAdaptiveAvgPool2dBackward");
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, make_handle(a.grad_output), make_handle(grad_input), make_handle(grad_input));
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    kernels::adaptive_avg_pool2d_backward(view<4>(kOp, a.grad_output), view<4>(kOp, grad_input), at::get_num_threads());
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, input_size};
    a.check();
    const at::Tensor grad_input = empty_result(grad_output, input_size);
    run_unless_empty<run>(a, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, const at::Tensor& out) {
    const DeviceScope scope(grad_output.device());
    const Arguments a{grad_output, input_size};
    a.check();
    prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    run_unless_empty<run>(a, out);
}

TORCH_ACLNN_REGISTER(adaptive_avg_pool2d_backward)

}  // namespace
}  // namespace torch_aclnn
