#include <ATen/ops/empty_like.h>

#include "extension/autograd/max_unpool.h"
#include "extension/ops/planes.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/torch_aclnn_operators.h"
#include "kernels/max_unpool_backward/max_unpool_backward.h"

namespace torch_aclnn {
namespace {

// The 3-D entry point takes the pooling's arguments, too, and checks their values.
template <int kDims>
struct MaxUnpoolSignature {
    using Type = void(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef);
    static constexpr const char* kMore = "";
};
template <>
struct MaxUnpoolSignature<3> {
    using Type = void(const at::Tensor&, const at::Tensor&, c10::SymIntArrayRef, at::IntArrayRef, at::IntArrayRef);
    static constexpr const char* kMore = ", int[3] stride, int[3] padding";
};

template <class Row, class Phase1>
struct MaxUnpoolBackward {
    static constexpr int kDims = Row::kDims;
    static constexpr const char* kOp = Row::kOp;
    using Signature = typename MaxUnpoolSignature<kDims>::Type;

    const at::Tensor& grad_output;
    const at::Tensor& indices;
    c10::SymIntArrayRef output_size;
    at::IntArrayRef stride = {}, padding = {};

    static std::string parameters() {
        return "Tensor grad_output, Tensor indices, SymInt[" + std::to_string(kDims) + "] output_size" + MaxUnpoolSignature<kDims>::kMore;
    }

    void check() const {
        check_same_device(kOp, {{"grad_output", grad_output}, {"indices", indices}});
        check_rank(kOp, "indices", indices.dim(), kDims + 1, kDims + 2);
        check_dtype(kOp, {"indices", indices}, {at::kLong, at::kInt});
        check_length(kOp, "output_size", output_size.size(), {kDims});
        check_values(kOp, "output_size", output_size, 1);
        check_countable(kOp, "output_size", output_size);
        if constexpr (kDims == 3) {
            check_length(kOp, "stride", stride.size(), {kDims});
            check_values(kOp, "stride", stride, 1);
            check_length(kOp, "padding", padding.size(), {kDims});
            check_values(kOp, "padding", padding, INT32_MIN);
        }
        const c10::SymIntArrayRef sizes = indices.sym_sizes();
        c10::SmallVector<c10::SymInt, 5> expected(sizes.begin(), sizes.end() - kDims);
        expected.append(output_size.begin(), output_size.end());
        check_size(kOp, "grad_output", grad_output.sym_sizes(), expected, " by indices and output_size");
    }

    // The page of images lists int32, that of volumes does not.
    at::Tensor listed_indices() const { return kDims == 2 ? indices : long_indices(); }
    // The kernels take int64. int32 is what max_pool3d gives on npu, but there its meta kernel says int64, so that a compiled graph holds
    // no conversion and brings int32 here.
    at::Tensor long_indices() const { return indices.scalar_type() == at::kInt ? indices.to(at::kLong) : indices; }
    const at::Tensor& like() const { return grad_output; }
    at::Tensor empty_result() const { return empty_contiguous(grad_output, indices.sym_sizes()); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, indices.sym_sizes(), {{"grad_output", grad_output}, {"indices", indices}});
    }
    at::Tensor record(const auto& compute) const {
        return torch_aclnn::record(compute, MaxUnpoolBackwardDerivative<Row>{indices, c10::SymDimVector(grad_output.sym_sizes())},
                                   grad_output);
    }

    void run_npu(const at::Tensor& grad_input) const {
        // The entry point writes contiguous memory only.
        const at::Tensor result = grad_input.is_contiguous() ? grad_input : at::empty_like(grad_input, at::MemoryFormat::Contiguous);
        call_with(as_listed(grad_output), as_listed(result));
        if (!result.is_same(grad_input)) grad_input.copy_(result);
    }

    // Returns the tensor as a listed type of the same width where its own is not listed, because elements only move.
    static at::Tensor as_listed(const at::Tensor& tensor) {
        if (tensor.scalar_type() == at::kBFloat16) return tensor.view(at::kShort);
        return kDims == 2 && tensor.scalar_type() == at::kDouble ? tensor.view(at::kLong) : tensor;
    }

    void call_with(const at::Tensor& listed_grad_output, const at::Tensor& result) const {
        static const EntryPoint<Phase1> entry_point(Row::kEntryPoint);
        const auto call_with_rest = [&](auto... rest) {
            // The entry point reads only the shape of `self`, so a handle over the result stands for it.
            call(entry_point, listed_grad_output, result, listed_indices(), C10_AS_INTARRAYREF_SLOW(output_size), rest..., result);
        };
        if constexpr (kDims == 3)
            call_with_rest(stride, padding);
        else
            call_with_rest();
    }

    void run_cpu(const at::Tensor& grad_input) const {
        const at::Tensor indices = long_indices();
        const auto bad = kernels::max_unpool_backward(plane_view<kDims>(kOp, grad_output), plane_view<kDims>(kOp, indices),
                                                      plane_view<kDims>(kOp, grad_input), at::get_num_threads());
        if (bad) refuse_index(bad->index, bad->position);
    }

    // The position is of (N, C, depth, rows, columns).
    void refuse_index(int64_t index, const int64_t (&position)[5]) const {
        c10::SmallVector<int64_t, 5> own;
        for (int64_t d = 0; d < indices.dim(); ++d) own.push_back(position[kernels::place_among_five(d, indices.dim(), kDims)]);
        TORCH_CHECK(false, kOp, ": indices: expected values below the product of output_size ", output_size, ", got ", index,
                    " at position ", own);
    }
};

#define TORCH_ACLNN_REGISTER_MAX_UNPOOLING(Type, name, ...)                                                \
    using Type##Backward = MaxUnpoolBackward<rows::Type, decltype(aclnn##Type##BackwardGetWorkspaceSize)>; \
    TORCH_ACLNN_REGISTER(name##_backward, Type##Backward)
TORCH_ACLNN_MAX_UNPOOLINGS(TORCH_ACLNN_REGISTER_MAX_UNPOOLING)

}  // namespace
}  // namespace torch_aclnn
