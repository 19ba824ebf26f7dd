#include "kernels/adaptive_avg_pool3d_backward/adaptive_avg_pool3d_backward.h"

#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "engine/opapi/adaptive_avg_pool.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING;

std::unique_ptr<aclOpExecutor> prepare(const AdaptiveAvgPoolArguments& a) {
    check_adaptive_avg_pool("aclnnAdaptiveAvgPool3dBackward", a, kDTypes, 3);
    return adaptive_avg_pool_executor("aclnnAdaptiveAvgPool3dBackward", a, [](const aclOpExecutor& e) {
        kernels::adaptive_avg_pool3d_backward(view<5>(e.input(0)), view<5>(e.output(0)), config().thread_count);
    });
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, aclTensor* out,
                                                           uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] { return prepare({{"gradOutput", gradOutput}, {"self", self}, {"out", out}}); };
    const auto describe = [&](JsonObject& arguments) { describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "out", out); };
    return run_phase1("aclnnAdaptiveAvgPool3dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnAdaptiveAvgPool3dBackward, aclrtStream, "pooling", kDTypes)
