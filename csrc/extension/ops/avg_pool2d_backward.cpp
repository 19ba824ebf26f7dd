#include "kernels/avg_pool2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "avg_pool2d_backward";

struct Arguments {
    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;
    at::IntArrayRef kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    std::optional<int64_t> divisor_override, cube_math_type;

    at::IntArrayRef effective_stride() const { return stride.empty() ? kernel_size : stride; }

    // 0 means none to the entry point and the kernel, so it must not come from outside.
    int64_t divisor() const {
        TORCH_CHECK(divisor_override.value_or(1) != 0, kOp, ": divisor_override: expected a value other than 0, got 0");
        return divisor_override.value_or(0);
    }
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<const aclTensor*, const aclTensor*, const aclIntArray*, const aclIntArray*, const aclIntArray*, bool, bool,
                            int64_t, int8_t, aclTensor*>
        entry_point("aclnnAvgPool2dBackward");
    constexpr int64_t kKeepDtype = 0, kUseFp16 = 2;  // the older products have no float32 unit for this operator
    const int64_t cube_math_type = a.cube_math_type.value_or(is_a2_or_later() ? kKeepDtype : kUseFp16);
    TORCH_CHECK_VALUE(cube_math_type >= 0 && cube_math_type <= 3, kOp, ": cube_math_type: expected a value in 0..3, got ", cube_math_type);
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, make_handle(a.grad_output), make_handle(grad_input), make_handle(a.kernel_size), make_handle(a.effective_stride()),
         make_handle(a.padding), a.ceil_mode, a.count_include_pad, a.divisor(), static_cast<int8_t>(cube_math_type),
         Output{make_handle(grad_input)});
}

void run_meta(const Arguments& a, const at::Tensor&) {
    const int64_t rank = static_cast<int64_t>(a.input_size.size());
    check_rank(kOp, "input_size", rank, 3, 4);
    check_rank(kOp, "grad_output", a.grad_output.dim(), rank, rank);
    check_dtype(kOp, {"grad_output", a.grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
    a.divisor();
    std::vector<c10::SymInt> expected(a.input_size.begin(), a.input_size.end() - 2);
    for (int64_t d = 0; d < 2; ++d) {
        const int64_t kernel = a.kernel_size[d], stride = a.effective_stride()[d], padding = a.padding[d];
        TORCH_CHECK(kernel > 0 && stride > 0, kOp, ": kernel_size and stride: expected positive values, got ", a.kernel_size, " and ",
                    a.effective_stride());
        TORCH_CHECK(padding >= 0 && padding <= kernel / 2, kOp, ": padding: expected values between 0 and half of kernel_size ",
                    a.kernel_size, ", got ", a.padding);
        const c10::SymInt& in = a.input_size[rank - 2 + d];
        TORCH_SYM_CHECK(in.sym_ge(1).sym_and((in + 2 * padding).sym_ge(kernels::smallest_padded_size(kernel, stride, a.ceil_mode))), kOp,
                        ": input_size: expected a size that holds a window of ", a.kernel_size, ", got ", a.input_size);
        expected.push_back(kernels::pooled_size(in, kernel, stride, padding, a.ceil_mode));
    }
    check_size(kOp, "grad_output", a.grad_output.sym_sizes(), expected);
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    run_meta(a, grad_input);
    const at::IntArrayRef stride = a.effective_stride();
    const kernels::AvgPool2dParams params{
        {a.kernel_size[0], a.kernel_size[1]}, {stride[0], stride[1]}, {a.padding[0], a.padding[1]}, a.count_include_pad, a.divisor()};
    kernels::avg_pool2d_backward(view<4>(kOp, a.grad_output), view<4>(kOp, grad_input), params, at::get_num_threads());
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, at::IntArrayRef kernel_size, at::IntArrayRef stride,
                      at::IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,
                      std::optional<int64_t> cube_math_type) {
    const c10::OptionalDeviceGuard guard(grad_output.device());
    const at::Tensor grad_input = empty_result(grad_output, input_size);
    run({grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, cube_math_type},
        grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_output, c10::SymIntArrayRef input_size, at::IntArrayRef kernel_size, at::IntArrayRef stride,
          at::IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,
          std::optional<int64_t> cube_math_type, const at::Tensor& out) {
    const c10::OptionalDeviceGuard guard(grad_output.device());
    prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    run({grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, cube_math_type}, out);
}

TORCH_ACLNN_REGISTER(avg_pool2d_backward)

}  // namespace
}  // namespace torch_aclnn
