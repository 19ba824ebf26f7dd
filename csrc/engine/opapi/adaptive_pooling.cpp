// The gradients of adaptive average pooling.
#include "contract/operators.h"
#include "engine/opapi/entry.h"
#include "engine/opapi/planes.h"
#include "kernels/separable/operators.h"

namespace torch_aclnn::host {

// The document of the operator on images lists these two; torch_npu's own operators pass nothing else, but ND is common elsewhere.
static void require_pooling_format_if_strict(std::initializer_list<Named> tensors) {
    if (!config().strict) return;
    for (const Named& t : tensors)
        if (t.tensor->format != ACL_FORMAT_NCHW && t.tensor->format != ACL_FORMAT_NCL)
            refuse(t.name, "format NCHW or NCL, as TORCH_ACLNN_HOST_MODE=strict asks", to_string(t.tensor->format));
}

template <uint64_t dims>
static Compute adaptive_avg_pool(const Offer& offer, Named grad_output, Named self, Named out) {
    check_planes(offer, grad_output, self, out, dims);
    for (const Named& t : {grad_output, out}) require_same_format(t, self);
    require_same_front(grad_output, self, dims);
    require_sound({grad_output, self, out});
    // A plane without any window has no gradient, so it is refused.
    if (grad_output.tensor->numel() == 0 && out.tensor->numel() > 0)
        refuse(grad_output.name, "at least one element for each plane of self", to_string(grad_output.tensor->sizes));
    require_not_empty_if_strict({grad_output, self});
    require_no_overlap(out, {grad_output});
    if (dims == 2) require_pooling_format_if_strict({grad_output, self, out});
    return [](const aclOpExecutor& e) {
        kernels::adaptive_avg_pool_backward(view_of_planes(e.input(0), dims), view_of_planes(e.output(0), dims), config().thread_count);
    };
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

#define ADAPTIVE_AVERAGE_POOLING(Type, name, dims, aten, kind, dtypes, assumed_dtypes, ...) \
    OPAPI_ENTRY(aclnn##Type##Backward, "vision", OPAPI_OFFER(name, dtypes, assumed_dtypes), adaptive_avg_pool<dims>)
TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(ADAPTIVE_AVERAGE_POOLING)
