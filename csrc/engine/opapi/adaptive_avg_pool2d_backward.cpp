#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "engine/opapi/adaptive_avg_pool.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING;

// The document lists these two; torch_npu's own operators pass nothing else, but ND is common elsewhere.
void require_pooling_format_if_strict(std::initializer_list<Named> tensors) {
    if (!config().strict) return;
    for (const Named& t : tensors)
        if (t.tensor->format != ACL_FORMAT_NCHW && t.tensor->format != ACL_FORMAT_NCL)
            refuse(t.name, "format NCHW or NCL, as TORCH_ACLNN_HOST_STRICT asks", to_string(t.tensor->format));
}

std::unique_ptr<aclOpExecutor> prepare(const AdaptiveAvgPoolArguments& a) {
    check_adaptive_avg_pool("aclnnAdaptiveAvgPool2dBackward", a, kDTypes, 2);
    require_pooling_format_if_strict({a.grad_output, a.self, a.out});
    return adaptive_avg_pool_executor("aclnnAdaptiveAvgPool2dBackward", a, [](const aclOpExecutor& e) {
        kernels::adaptive_avg_pool2d_backward(view<4>(e.input(0)), view<4>(e.output(0)), config().thread_count);
    });
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, aclTensor* out,
                                                           uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] { return prepare({{"gradOutput", gradOutput}, {"self", self}, {"out", out}}); };
    const auto describe = [&](JsonObject& arguments) { describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "out", out); };
    return run_phase1("aclnnAdaptiveAvgPool2dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnAdaptiveAvgPool2dBackward, const aclrtStream, "pooling", kDTypes)
