#include "extension/autograd/maps.h"
#include "extension/ops/planes.h"
#include "extension/ops/products.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/torch_aclnn_operators.h"
#include "kernels/separable/operators.h"

namespace torch_aclnn {
namespace {

using kernels::Padding;

template <class Row, Padding padding_mode, class Phase1>
struct PadBackward : PlaneGradient<Row> {
    using Base = PlaneGradient<Row>;
    using Base::grad_output, Base::input_size, Base::kDims, Base::kOp;
    using Signature = void(const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef);

    c10::SymIntArrayRef padding;  // left, right, top, bottom, front, back

    static std::string parameters() { return "Tensor grad_output, SymInt[] input_size, SymInt[" + std::to_string(2 * kDims) + "] padding"; }

    void check() const {
        this->check_ranks();
        check_length(kOp, "padding", padding.size(), {2 * kDims});
        check_values(kOp, "padding", padding, INT32_MIN);
        check_dtype(kOp, {"grad_output", grad_output},
                    {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kComplexFloat, at::kComplexDouble});
        const int64_t rank = grad_output.dim();
        c10::SmallVector<c10::SymInt, 5> expected(input_size.begin(), input_size.end());
        for (int64_t d = rank == kDims + 2 ? 1 : 0; d < rank; ++d)
            TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": input_size: expected no dimension of size 0 but N, got ", input_size);
        for (int64_t side = 0; side < 2 * kDims; ++side) expected[rank - 1 - side / 2] += padding[side];
        for (int64_t d = rank - kDims; d < rank; ++d)
            TORCH_SYM_CHECK(expected[d].sym_ge(1), kOp, ": padding: expected a padded size of at least 1, got ", padding, " for ",
                            input_size);
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected, " by input_size and padding");
        check_limits();
    }

    void check_limits() const {
        for (size_t side = 0; side < 2 * kDims; ++side) {
            const c10::SymInt& size = input_size[input_size.size() - 1 - side / 2];
            if constexpr (padding_mode == Padding::reflection)
                TORCH_SYM_CHECK(padding[side].sym_lt(size), kOp, ": padding: expected values below the size that they extend, got ",
                                padding, " for ", input_size);
            if constexpr (padding_mode == Padding::circular)
                TORCH_SYM_CHECK(padding[side].sym_le(size), kOp, ": padding: expected values of at most the size that they extend, got ",
                                padding, " for ", input_size);
        }
    }

    at::Tensor record(const auto& compute) const {
        return torch_aclnn::record(compute, DerivativeOfBackward<PadMap<Row>>{{c10::SymDimVector(padding)}}, grad_output);
    }

    void run_npu(const at::Tensor& grad_input) const {
        // Where bfloat16 is not listed, as on older products, the gradient is computed in float32 and rounded once.
        const bool is_listed = grad_input.scalar_type() != at::kBFloat16 || (Row::kListsBfloat16 && is_a2_or_later());
        if (is_listed) return call_with(grad_output, grad_input);
        const at::Tensor wide_grad_output = grad_output.to(at::kFloat);
        const at::Tensor wide_grad_input = empty_contiguous(wide_grad_output, input_size);
        call_with(wide_grad_output, wide_grad_input);
        grad_input.copy_(wide_grad_input);
    }

    void call_with(const at::Tensor& listed_grad_output, const at::Tensor& listed_grad_input) const {
        static const EntryPoint<Phase1> entry_point(Row::kEntryPoint);
        // Only the shape of `self` is read, so a handle over the result stands for the forward's input.
        call(entry_point, listed_grad_output, listed_grad_input, C10_AS_INTARRAYREF_SLOW(padding), listed_grad_input);
    }

    void run_cpu(const at::Tensor& grad_input) const {
        const at::IntArrayRef sides = C10_AS_INTARRAYREF_SLOW(padding);
        int64_t before[3] = {};
        for (int axis = 0; axis < kDims; ++axis) before[2 - axis] = sides[2 * axis];
        kernels::pad_backward(padding_mode, plane_view<kDims>(kOp, grad_output), plane_view<kDims>(kOp, grad_input), before,
                              at::get_num_threads());
    }
};

#define TORCH_ACLNN_REGISTER_PADDING(Type, name, dims, aten, kind, ...)                                             \
    using Type##Backward = PadBackward<rows::Type, Padding::kind, decltype(aclnn##Type##BackwardGetWorkspaceSize)>; \
    TORCH_ACLNN_REGISTER(name##_backward, Type##Backward)
TORCH_ACLNN_PADDINGS(TORCH_ACLNN_REGISTER_PADDING)

}  // namespace
}  // namespace torch_aclnn
