// Gradient scaling for mixed precision, and fused optimisers.
#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "optimiser"
using namespace torch_aclnn::host::aten;

// foundInf is set where there is reason to, never reset.
ATEN_ENTRY(aclnnForeachNonFiniteCheckAndUnscale, ANY, (TensorsInOut, scaledGrads), (InOut, foundInf, elements(1)),
           (In, invScale, elements(1))) {
    at::_amp_foreach_non_finite_check_and_unscale_(scaledGrads, foundInf, invScale);
}

namespace torch_aclnn::host::aten::kind {
struct Count : In {
    ATEN_TYPES(In, INT32);
};
struct Step : In {
    ATEN_TYPES(In, INT64 | FLOAT);
};
struct CountOut : Out {
    ATEN_TYPES(Out, INT32);
};
}  // namespace torch_aclnn::host::aten::kind

// torch_npu passes the first two tensors again as the results.
ATEN_ENTRY(aclnnAmpUpdateScale, ANY, (In, currentScale, elements(1)), (Count, growthTracker, elements(1)), (In, foundInf, elements(1)),
           (Double, growthFactor), (Double, backoffFactor), (Positive, growthInterval), (Out, updatedScale, elements(1)),
           (CountOut, updatedGrowthTracker, elements(1))) {
    at::Tensor scale = currentScale.clone(), tracker = growthTracker.clone();
    at::_amp_update_scale_(scale, tracker, foundInf, growthFactor, backoffFactor, growthInterval);
    write(updatedScale, scale);
    write(updatedGrowthTracker, tracker);
}

// One parameter of AdamW. `step` counts the steps before this one; maxGradNorm is the largest second moment so far, with amsgrad. ATen's
// fused kernels go by the number of elements of the parameter alone.
static void require_maxima(bool amsgrad, const std::optional<at::Tensor>& maxima) {
    if (amsgrad && !maxima) torch_aclnn::host::refuse_null("maxGradNorm", "a tensor, as amsgrad is set");
}
ATEN_CHECKED_ENTRY(aclnnApplyAdamWV2, FLOATING, require_maxima(amsgrad, maxGradNorm), (InOut, varRef), (InOut, mRef, shaped_like(varRef)),
                   (InOut, vRef, shaped_like(varRef)), (OptOut, maxGradNorm, if_wanted(amsgrad, shaped_like(varRef))),
                   (In, grad, shaped_like(varRef)), (Step, step, elements(1)), (Float, lr), (Float, beta1), (Float, beta2),
                   (Float, weightDecay), (Float, eps), (Bool, amsgrad), (Bool, maximize)) {
    float number = step.item().toFloat() + 1;
    const at::Tensor this_step = view_of(&number, sizeof number, {}, {}, at::kFloat);
    std::vector<at::Tensor> updated{varRef, mRef, vRef};
    if (amsgrad) updated.push_back(*maxGradNorm);
    // ATen's kernel has one data type for all, and takes no strides. What differs is computed in FLOAT.
    const bool mixed =
        std::any_of(updated.begin(), updated.end(), [&](const at::Tensor& t) { return t.scalar_type() != grad.scalar_type(); });
    const auto computed = [&](const at::Tensor& tensor) { return (mixed ? tensor.to(at::kFloat) : tensor).contiguous(); };
    std::vector<at::Tensor> results;
    for (const at::Tensor& tensor : updated) results.push_back(computed(tensor));
    at::_fused_adamw_({results[0]}, {computed(grad)}, {results[1]}, {results[2]}, at::TensorList(results).slice(3), {this_step}, lr, beta1,
                      beta2, weightDecay, eps, amsgrad, maximize);
    for (size_t i = 0; i < updated.size(); ++i) write(updated[i], results[i]);
}

// Without momentum there are no buffers.
static std::vector<Expected> buffers(at::TensorList params, at::TensorList given, float momentum) {
    return given.empty() && momentum == 0 ? std::vector<Expected>() : shaped_like(params);
}
ATEN_ENTRY(aclnnFusedSgd, ANY, (TensorsInOut, params), (TensorsInOut, grads, shaped_like(params)),
           (TensorsInOut, momentumBufferList, buffers(params, momentumBufferList, momentum)), (OptIn, gradScale, elements(1)),
           (Float, weightDecay), (Float, momentum), (Float, lr), (Float, dampening), (Bool, nesterov), (Bool, maximize),
           (Bool, isFirstStep)) {
    InPlace values(params), gradients(grads), buffers(momentum == 0 ? at::TensorList() : momentumBufferList);
    at::_fused_sgd_(values.dense(), gradients.dense(), buffers.dense(), weightDecay, momentum, lr, dampening, nesterov, maximize,
                    isFirstStep, gradScale);
    for (InPlace* written : {&values, &gradients, &buffers}) written->write_back();
}
