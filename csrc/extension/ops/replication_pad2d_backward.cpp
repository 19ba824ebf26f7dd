#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

#include "extension/aclnn/launch.h"
#include "extension/autograd/padding.h"
#include "extension/ops/padding.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_pad2d_backward.h"

namespace torch_aclnn {
namespace {

struct ReplicationPad2dBackward : PaddingBackward {
    static constexpr const char* kOp = "replication_pad2d_backward";
    void check() const { check_arguments(kOp); }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, grad_output, input_size, {{"grad_output", grad_output}});
    }
    template <class Compute>
    at::Tensor record(const Compute& compute) const {
        return torch_aclnn::record<NodeOfBackward<ReplicationPad2dMap>>(
            compute, ReplicationPad2dMap{c10::SymDimVector(padding.begin(), padding.end())}, grad_output);
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

void ReplicationPad2dBackward::run_npu(const at::Tensor& grad_input) const {
    static const EntryPoint<decltype(aclnnReplicationPad2dBackwardGetWorkspaceSize)> entry_point("aclnnReplicationPad2dBackward");
    with_listed_dtype(grad_input, [&](const at::Tensor& listed_grad_output, const at::Tensor& listed_grad_input) {
        // Only the shape of `self` is read, so a handle over the result stands for the forward's input.
        call(entry_point, listed_grad_output, listed_grad_input, C10_AS_INTARRAYREF_SLOW(padding), listed_grad_input);
    });
}

void ReplicationPad2dBackward::run_cpu(const at::Tensor& grad_input) const {
    const at::IntArrayRef sides = C10_AS_INTARRAYREF_SLOW(padding);
    kernels::replication_pad2d_backward(view<4>(kOp, grad_output), view<4>(kOp, grad_input), sides[0], sides[2], at::get_num_threads());
}

TORCH_ACLNN_REGISTER(replication_pad2d_backward, ReplicationPad2dBackward)

}  // namespace
}  // namespace torch_aclnn
