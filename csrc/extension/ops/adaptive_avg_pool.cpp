#include "extension/autograd/maps.h"
#include "extension/ops/planes.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/torch_aclnn_operators.h"
#include "kernels/separable/operators.h"

namespace torch_aclnn {
namespace {

template <class Row, class Phase1>
struct AdaptiveAvgPoolBackward : PlaneGradient<Row> {
    using Base = PlaneGradient<Row>;
    using Base::grad_output, Base::input_size, Base::kDims, Base::kOp;
    using Signature = void(const at::Tensor&, c10::SymIntArrayRef);

    static std::string parameters() { return "Tensor grad_output, SymInt[] input_size"; }

    void check() const {
        this->check_ranks();
        check_dtype(kOp, {"grad_output", grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
        const c10::SymIntArrayRef sizes = grad_output.sym_sizes();
        c10::SmallVector<c10::SymInt, 5> expected(input_size.begin(), input_size.end() - kDims);
        expected.append(sizes.end() - kDims, sizes.end());
        check_size(kOp, "grad_output", sizes, expected, " by input_size");
        for (int64_t d = this->first_of_plane(); d < grad_output.dim(); ++d)
            TORCH_SYM_CHECK(sizes[d].sym_ge(1), kOp, ": grad_output: expected at least one cell in dimension ", d, ", got ", sizes);
    }

    at::Tensor record(const auto& compute) const {
        using Map = AdaptiveAvgPoolMap<Row>;
        const c10::SymIntArrayRef pooled = grad_output.sym_sizes().slice(this->first_of_plane());
        return torch_aclnn::record(compute, DerivativeOfBackward<Map>{{c10::SymDimVector(pooled)}}, grad_output);
    }

    void run_npu(const at::Tensor& grad_input) const {
        static const EntryPoint<Phase1> entry_point(Row::kEntryPoint);
        // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
        call(entry_point, grad_output, grad_input, grad_input);
    }

    void run_cpu(const at::Tensor& grad_input) const {
        kernels::adaptive_avg_pool_backward(plane_view<kDims>(kOp, grad_output), plane_view<kDims>(kOp, grad_input), at::get_num_threads());
    }
};

#define TORCH_ACLNN_REGISTER_ADAPTIVE_AVERAGE_POOLING(Type, name, ...)                                           \
    using Type##Backward = AdaptiveAvgPoolBackward<rows::Type, decltype(aclnn##Type##BackwardGetWorkspaceSize)>; \
    TORCH_ACLNN_REGISTER(name##_backward, Type##Backward)
TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(TORCH_ACLNN_REGISTER_ADAPTIVE_AVERAGE_POOLING)

}  // namespace
}  // namespace torch_aclnn
