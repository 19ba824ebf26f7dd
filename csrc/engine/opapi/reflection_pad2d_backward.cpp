#include "kernels/reflection_pad2d_backward/reflection_pad2d_backward.h"

#include "aclnnop/aclnn_pad2d_backward.h"
#include "engine/opapi/padding.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING | DOUBLE | COMPLEX;

// Earlier documents ask for it. PyTorch crops by negative values, and later documents do not exclude them.
void require_no_crop(const PaddingArguments& a) {
    for (const int64_t value : a.padding.handle->values)
        if (value < 0) refuse(a.padding.name, "values of at least 0, as TORCH_ACLNN_HOST_STRICT asks", std::to_string(value));
}

// A reflection has the elements beside the edge only, once.
void require_limits(const PaddingArguments& a) {
    require_padding_below_size(a);
    if (config().strict) require_no_crop(a);
}

std::unique_ptr<aclOpExecutor> prepare(const PaddingArguments& a) {
    check_padding("aclnnReflectionPad2dBackward", a, without_later_if_strict(kDTypes, BF16), require_limits);
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

TORCH_ACLNN_PHASE2(aclnnReflectionPad2dBackward, const aclrtStream, "padding", kDTypes)
