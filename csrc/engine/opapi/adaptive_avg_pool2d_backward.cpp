#include "kernels/adaptive_avg_pool2d_backward/adaptive_avg_pool2d_backward.h"

#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "engine/opapi/checks.h"

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

std::unique_ptr<aclOpExecutor> prepare(const Named& grad_output, const Named& self, const Named& out) {
    require_handles({grad_output, self, out});
    for (const Named& t : {grad_output, self, out}) {
        require_dtype(t, kDTypes);
        require_rank(t, 3, 4);
    }
    for (const Named& t : {grad_output, out}) {
        require_same_dtype(t, self);
        require_same_format(t, self);
        require_same_rank(t, self);
        for (uint64_t d = 0; d < self.tensor->rank() - 2; ++d) require_dim(t, d, self.tensor->sizes[d]);
    }
    require_same_shape(out, self);
    require_sound({grad_output, self, out});
    require_pooling_format_if_strict({grad_output, self, out});

    const bool nothing_to_sum = grad_output.tensor->numel() == 0 && out.tensor->numel() > 0;
    if (nothing_to_sum) refuse(grad_output.name, "at least one element for each plane of self", to_string(grad_output.tensor->sizes));
    require_not_empty_if_strict({grad_output, self});
    require_no_overlap(out, {grad_output});
    const auto compute = [](const aclOpExecutor& e) {
        kernels::adaptive_avg_pool2d_backward(view<4>(e.input(0)), view<4>(e.output(0)), config().thread_count);
    };
    return std::make_unique<aclOpExecutor>("aclnnAdaptiveAvgPool2dBackward", std::initializer_list{grad_output, self},
                                           std::initializer_list{out}, compute);
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, aclTensor* out,
                                                           uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    return run_phase1("aclnnAdaptiveAvgPool2dBackward", workspaceSize, executor,
                      [&] { return prepare({"gradOutput", gradOutput}, {"self", self}, {"out", out}); });
}

TORCH_ACLNN_PHASE2(aclnnAdaptiveAvgPool2dBackward, const aclrtStream, "pooling", kDTypes)
