#include "extension/autograd/maps.h"
#include "extension/ops/planes.h"
#include "extension/ops/products.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/torch_aclnn_operators.h"
#include "kernels/separable/operators.h"
#include "kernels/support/pooled_size.h"

namespace torch_aclnn {
namespace {

// Only the 2-D entry point has a cubeMathType.
template <int kDims>
struct AvgPoolSignature {
    using Type = void(const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                      std::optional<int64_t>);
    static constexpr const char* kMore = "";
};
template <>
struct AvgPoolSignature<2> {
    using Type = void(const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, bool, bool,
                      std::optional<int64_t>, std::optional<int64_t>);
    static constexpr const char* kMore = ", int? cube_math_type=None";
};

template <class Row, class Phase1>
struct AvgPoolBackward : PlaneGradient<Row> {
    using Base = PlaneGradient<Row>;
    using Base::grad_output, Base::input_size, Base::kDims, Base::kOp;
    using Signature = typename AvgPoolSignature<kDims>::Type;

    at::IntArrayRef kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    std::optional<int64_t> divisor_override, cube_math_type = {};

    static std::string parameters() {
        const std::string ints = "int[" + std::to_string(kDims) + "] ";
        return "Tensor grad_output, SymInt[] input_size, " + ints + "kernel_size, " + ints + "stride=[], " + ints +
               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None" + AvgPoolSignature<kDims>::kMore;
    }

    kernels::AvgPoolParams params() const {
        kernels::AvgPoolParams p{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, count_include_pad, divisor()};
        kernels::expand_axes(kernel_size, kDims, p.kernel_size);
        kernels::expand_axes(effective_stride(), kDims, p.stride);
        kernels::expand_axes(padding, kDims, p.padding);
        return p;
    }
    at::IntArrayRef effective_stride() const { return stride.empty() ? kernel_size : stride; }
    // The divisor as the entry point and the kernel take it, to which 0 means none.
    int64_t divisor() const { return divisor_override.value_or(0); }

    void check() const {
        this->check_ranks();
        check_dtype(kOp, {"grad_output", grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
        check_length(kOp, "kernel_size", kernel_size.size(), {1, kDims});
        check_values(kOp, "kernel_size", kernel_size, 1);
        check_length(kOp, "stride", stride.size(), {0, 1, kDims});
        check_values(kOp, "stride", stride, 1);
        check_length(kOp, "padding", padding.size(), {1, kDims});
        check_values(kOp, "padding", padding, 0);
        TORCH_CHECK(divisor_override.value_or(1) != 0, kOp, ": divisor_override: expected a value other than 0, got 0");
        check_pooled_size();
    }

    void check_pooled_size() const {
        const kernels::AvgPoolParams p = params();
        c10::SmallVector<c10::SymInt, 5> expected(input_size.begin(), input_size.end() - kDims);
        for (int axis = 3 - kDims; axis < 3; ++axis) {
            const int64_t window = p.kernel_size[axis], step = p.stride[axis], pad = p.padding[axis];
            TORCH_CHECK(pad <= window / 2, kOp, ": padding: expected values of at most half of kernel_size ", kernel_size, ", got ",
                        padding);
            const c10::SymInt& in = input_size[input_size.size() - 3 + axis];
            const int64_t smallest = kernels::smallest_padded_size(window, step, ceil_mode);
            const auto fixed = in.maybe_as_int();  // plain arithmetic if the size is a number
            const c10::SymBool holds =
                fixed ? c10::SymBool(*fixed >= 1 && *fixed + 2 * pad >= smallest) : in.sym_ge(1).sym_and((in + 2 * pad).sym_ge(smallest));
            TORCH_SYM_CHECK(holds, kOp, ": input_size: expected a size that holds a window of ", kernel_size, ", got ", input_size);
            expected.push_back(fixed ? c10::SymInt(kernels::pooled_size(*fixed, window, step, pad, ceil_mode))
                                     : kernels::pooled_size(in, window, step, pad, ceil_mode));
        }
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected, " by input_size, kernel_size, stride, padding and ceil_mode");
    }

    at::Tensor record(const auto& compute) const {
        const auto copy = [](at::IntArrayRef values) { return PlaneValues(values.begin(), values.end()); };
        const AvgPoolMap<Row> map{copy(kernel_size), copy(effective_stride()), copy(padding),
                                  ceil_mode,         count_include_pad,        divisor_override};
        return torch_aclnn::record(compute, DerivativeOfBackward<AvgPoolMap<Row>>{map}, grad_output);
    }

    void run_npu(const at::Tensor& grad_input) const {
        static const EntryPoint<Phase1> entry_point(Row::kEntryPoint);
        const auto call_with = [&](auto... rest) {
            // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
            call(entry_point, grad_output, grad_input, kernel_size, effective_stride(), padding, ceil_mode, count_include_pad, divisor(),
                 rest..., grad_input);
        };
        if constexpr (kDims == 2)
            call_with(math_type());
        else
            call_with();
    }

    int8_t math_type() const {
        constexpr int64_t kKeepDtype = 0, kUseFp16 = 2, kUseHf32 = 3;  // the older products have no float32 unit for this operator
        const int64_t type = cube_math_type.value_or(is_a2_or_later() ? kKeepDtype : kUseFp16);
        TORCH_CHECK_VALUE(type >= kKeepDtype && type <= kUseHf32, kOp, ": cube_math_type: expected a value in 0..3, got ", type);
        return static_cast<int8_t>(type);
    }

    void run_cpu(const at::Tensor& grad_input) const {
        kernels::avg_pool_backward(plane_view<kDims>(kOp, grad_output), plane_view<kDims>(kOp, grad_input), params(),
                                   at::get_num_threads());
    }
};

#define TORCH_ACLNN_REGISTER_AVERAGE_POOLING(Type, name, ...)                                            \
    using Type##Backward = AvgPoolBackward<rows::Type, decltype(aclnn##Type##BackwardGetWorkspaceSize)>; \
    TORCH_ACLNN_REGISTER(name##_backward, Type##Backward)
TORCH_ACLNN_AVERAGE_POOLINGS(TORCH_ACLNN_REGISTER_AVERAGE_POOLING)

}  // namespace
}  // namespace torch_aclnn
