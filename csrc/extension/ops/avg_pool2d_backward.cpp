#include "kernels/avg_pool2d_backward/avg_pool2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/autograd/avg_pool2d.h"
#include "extension/ops/common.h"
#include "extension/ops/products.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_avgpool2d_backward.h"

namespace torch_aclnn {
namespace {

struct AvgPool2dBackward {
    static constexpr const char* kOp = "avg_pool2d_backward";
    static constexpr const char* kParameters =
        "Tensor grad_output, SymInt[] input_size, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
        "count_include_pad=True, int? divisor_override=None, int? cube_math_type=None";
    using Signature = void(const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                           std::optional<int64_t>, std::optional<int64_t>);

    const at::Tensor& grad_output;
    c10::SymIntArrayRef input_size;
    at::IntArrayRef kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    std::optional<int64_t> divisor_override, cube_math_type;

    at::IntArrayRef effective_stride() const { return stride.empty() ? kernel_size : stride; }
    // To the entry point and the kernel 0 means none.
    int64_t divisor() const { return divisor_override.value_or(0); }
    void check() const;
    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return torch_aclnn::empty_result(grad_output, input_size); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    }
    template <class Compute>
    at::Tensor record(const Compute& compute) const {
        const AvgPool2dMap map{AvgPool2dMap::pair(kernel_size),
                               AvgPool2dMap::pair(effective_stride()),
                               AvgPool2dMap::pair(padding),
                               ceil_mode,
                               count_include_pad,
                               divisor_override};
        return torch_aclnn::record<NodeOfBackward<AvgPool2dMap>>(compute, map, grad_output);
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

// One value stands for both directions.
int64_t of(at::IntArrayRef values, int64_t direction) {
    return values.size() == 1 ? values[0] : values[direction];
}

void AvgPool2dBackward::check() const {
    const int64_t rank = static_cast<int64_t>(input_size.size());
    check_rank(kOp, "input_size", rank, 3, 4);
    check_countable(kOp, "input_size", input_size);
    check_rank(kOp, "grad_output", grad_output.dim(), rank, rank);
    check_dtype(kOp, {"grad_output", grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
    check_length(kOp, "kernel_size", kernel_size.size(), {1, 2});
    check_values(kOp, "kernel_size", kernel_size, 1);
    check_length(kOp, "stride", stride.size(), {0, 1, 2});
    check_values(kOp, "stride", stride, 1);
    check_length(kOp, "padding", padding.size(), {1, 2});
    check_values(kOp, "padding", padding, 0);
    TORCH_CHECK(divisor_override.value_or(1) != 0, kOp, ": divisor_override: expected a value other than 0, got 0");
    c10::SmallVector<c10::SymInt, 4> expected(input_size.begin(), input_size.end() - 2);
    for (int64_t d = 0; d < 2; ++d) {
        const int64_t window = of(kernel_size, d), step = of(effective_stride(), d), pad = of(padding, d);
        TORCH_CHECK(pad <= window / 2, kOp, ": padding: expected values of at most half of kernel_size ", kernel_size, ", got ", padding);
        const c10::SymInt& in = input_size[rank - 2 + d];
        const int64_t smallest = kernels::smallest_padded_size(window, step, ceil_mode);
        const auto fixed = in.maybe_as_int();  // plain arithmetic where it will do
        const c10::SymBool holds =
            fixed ? c10::SymBool(*fixed >= 1 && *fixed + 2 * pad >= smallest) : in.sym_ge(1).sym_and((in + 2 * pad).sym_ge(smallest));
        TORCH_SYM_CHECK(holds, kOp, ": input_size: expected a size that holds a window of ", kernel_size, ", got ", input_size);
        expected.push_back(fixed ? c10::SymInt(kernels::pooled_size(*fixed, window, step, pad, ceil_mode))
                                 : kernels::pooled_size(in, window, step, pad, ceil_mode));
    }
    check_size(kOp, "grad_output", grad_output.sym_sizes(), expected, " by input_size, kernel_size, stride, padding and ceil_mode");
}

void AvgPool2dBackward::run_npu(const at::Tensor& grad_input) const {
    static const EntryPoint<decltype(aclnnAvgPool2dBackwardGetWorkspaceSize)> entry_point("aclnnAvgPool2dBackward");
    constexpr int64_t kKeepDtype = 0, kUseFp16 = 2, kUseHf32 = 3;  // the older products have no float32 unit for this operator
    const int64_t math_type = cube_math_type.value_or(is_a2_or_later() ? kKeepDtype : kUseFp16);
    TORCH_CHECK_VALUE(math_type >= kKeepDtype && math_type <= kUseHf32, kOp, ": cube_math_type: expected a value in 0..3, got ", math_type);
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, grad_output, grad_input, kernel_size, effective_stride(), padding, ceil_mode, count_include_pad, divisor(),
         static_cast<int8_t>(math_type), grad_input);
}

void AvgPool2dBackward::run_cpu(const at::Tensor& grad_input) const {
    const at::IntArrayRef stride = effective_stride();
    const kernels::AvgPool2dParams params{{of(kernel_size, 0), of(kernel_size, 1)},
                                          {of(stride, 0), of(stride, 1)},
                                          {of(padding, 0), of(padding, 1)},
                                          count_include_pad,
                                          divisor()};
    kernels::avg_pool2d_backward(view<4>(kOp, grad_output), view<4>(kOp, grad_input), params, at::get_num_threads());
}

TORCH_ACLNN_REGISTER(avg_pool2d_backward, AvgPool2dBackward)

}  // namespace
}  // namespace torch_aclnn
