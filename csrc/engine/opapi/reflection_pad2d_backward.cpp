#include "kernels/reflection_pad2d_backward/reflection_pad2d_backward.h"

#include "aclnnop/aclnn_pad2d_backward.h"
#include "engine/opapi/padding.h"

namespace torch_aclnn::host {
namespace {

// A reflection has the elements beside the edge only, once.
void require_limits(const PaddingArguments& a) {
    require_padding_below_size(a);
}

std::unique_ptr<aclOpExecutor> prepare(const PaddingArguments& a) {
    check_padding("aclnnReflectionPad2dBackward", a, require_limits);
    return padding_executor("aclnnReflectionPad2dBackward", a, kernels::reflection_pad2d_backward);
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnReflectionPad2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* padding,
                                                         aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] {
        return prepare({{"gradOutput", gradOutput}, {"self", self}, {"gradInput", gradInput}, {"padding", padding}});
    };
    const auto describe = [&](JsonObject& arguments) {
        describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "padding", padding, "gradInput", gradInput);
    };
    return run_phase1("aclnnReflectionPad2dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnReflectionPad2dBackward, const aclrtStream, "padding", kPaddingDTypes)
