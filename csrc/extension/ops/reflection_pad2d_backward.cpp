#include "kernels/reflection_pad2d_backward/reflection_pad2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/autograd/padding.h"
#include "extension/ops/padding.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_pad2d_backward.h"

namespace torch_aclnn {
namespace {

struct ReflectionPad2dBackward : PaddingBackward {
    static constexpr const char* kOp = "reflection_pad2d_backward";
    void check() const;
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    }
    template <class Compute>
    at::Tensor record(const Compute& compute) const {
        return torch_aclnn::record<NodeOfBackward<ReflectionPad2dMap>>(
            compute, ReflectionPad2dMap{c10::SymDimVector(padding.begin(), padding.end())}, grad_output);
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

void ReflectionPad2dBackward::check() const {
    check_arguments(kOp);
    const size_t rank = input_size.size();
    for (size_t i = 0; i < 4; ++i)
        TORCH_SYM_CHECK(padding[i].sym_lt(input_size[rank - (i < 2 ? 1 : 2)]), kOp,
                        ": padding: expected values below the size that they extend, got ", padding, " for ", input_size);
}

void ReflectionPad2dBackward::run_npu(const at::Tensor& grad_input) const {
    static const EntryPoint<decltype(aclnnReflectionPad2dBackwardGetWorkspaceSize)> entry_point("aclnnReflectionPad2dBackward");
    with_listed_dtype(grad_input, [&](const at::Tensor& listed_grad_output, const at::Tensor& listed_grad_input) {
        // Only the shape of `self` is read, so a handle over the result stands for the forward's input.
        call(entry_point, listed_grad_output, listed_grad_input, C10_AS_INTARRAYREF_SLOW(padding), listed_grad_input);
    });
}

void ReflectionPad2dBackward::run_cpu(const at::Tensor& grad_input) const {
    const at::IntArrayRef sides = C10_AS_INTARRAYREF_SLOW(padding);
    kernels::reflection_pad2d_backward(view<4>(kOp, grad_output), view<4>(kOp, grad_input), sides[0], sides[2], at::get_num_threads());
}

TORCH_ACLNN_REGISTER(reflection_pad2d_backward, ReflectionPad2dBackward)

}  // namespace
}  // namespace torch_aclnn
