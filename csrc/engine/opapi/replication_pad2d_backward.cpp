#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

#include "aclnnop/aclnn_pad2d_backward.h"
#include "engine/opapi/padding.h"

namespace torch_aclnn::host {
namespace {

// The document's limit, which PyTorch does not have.
void require_limits(const PaddingArguments& a) {
    if (config().strict) require_padding_below_size(a, ", as TORCH_ACLNN_HOST_STRICT asks");
}

std::unique_ptr<aclOpExecutor> prepare(const PaddingArguments& a) {
    check_padding("aclnnReplicationPad2dBackward", a, require_limits);
    return padding_executor("aclnnReplicationPad2dBackward", a, kernels::replication_pad2d_backward);
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* padding,
                                                          aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] {
        return prepare({{"gradOutput", gradOutput}, {"self", self}, {"gradInput", gradInput}, {"padding", padding}});
    };
    const auto describe = [&](JsonObject& arguments) {
        describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "padding", padding, "gradInput", gradInput);
    };
    return run_phase1("aclnnReplicationPad2dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnReplicationPad2dBackward, const aclrtStream, "padding", kPaddingDTypes)
