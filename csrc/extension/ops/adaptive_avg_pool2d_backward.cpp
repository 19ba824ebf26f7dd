#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/autograd/adaptive_avg_pool.h"
#include "extension/ops/adaptive_avg_pool.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_adaptive_avg_pool2d_backward.h"

namespace torch_aclnn {
namespace {

struct AdaptiveAvgPool2dBackward : AdaptiveAvgPoolBackward {
    static constexpr const char* kOp = "adaptive_avg_pool2d_backward";
    void check() const { check_arguments(kOp, 2); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    }
    template <class Compute>
    at::Tensor record(const Compute& compute) const {
        const AdaptiveAvgPool2dMap map{c10::SymDimVector(grad_output.sym_sizes().end() - 2, grad_output.sym_sizes().end())};
        return torch_aclnn::record<NodeOfBackward<AdaptiveAvgPool2dMap>>(compute, map, grad_output);
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

void AdaptiveAvgPool2dBackward::run_npu(const at::Tensor& grad_input) const {
    static const EntryPoint<decltype(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize)> entry_point("aclnnAdaptiveAvgPool2dBackward");
    // Only the shape of `self` is read, so a handle over grad_input stands for the forward's input.
    call(entry_point, grad_output, grad_input, grad_input);
}

void AdaptiveAvgPool2dBackward::run_cpu(const at::Tensor& grad_input) const {
    kernels::adaptive_avg_pool2d_backward(view<4>(kOp, grad_output), view<4>(kOp, grad_input), at::get_num_threads());
}

TORCH_ACLNN_REGISTER(adaptive_avg_pool2d_backward, AdaptiveAvgPool2dBackward)

}  // namespace
}  // namespace torch_aclnn
