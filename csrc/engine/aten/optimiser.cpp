// Gradient scaling for mixed precision, and fused optimisers.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "optimiser"
using namespace torch_aclnn::host::aten;

// foundInf is set where there is reason to, never reset.
ATEN_ENTRY(aclnnForeachNonFiniteCheckAndUnscale, ANY, (Tensors, scaledGrads), (InOut, foundInf, elements(1)), (In, invScale, elements(1))) {
    at::_amp_foreach_non_finite_check_and_unscale_(scaledGrads, foundInf, invScale);
}

// torch_npu passes the first two tensors again as the results.
ATEN_ENTRY(aclnnAmpUpdateScale, ANY, (In, currentScale, elements(1)), (In, growthTracker, elements(1)), (In, foundInf, elements(1)),
           (Double, growthFactor), (Double, backoffFactor), (Positive, growthInterval), (Out, updatedScale, elements(1)),
           (Out, updatedGrowthTracker, elements(1))) {
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
ATEN_CHECKED_ENTRY(aclnnApplyAdamWV2, ANY, require_maxima(amsgrad, maxGradNorm), (InOut, varRef), (InOut, mRef, shaped_like(varRef)),
                   (InOut, vRef, shaped_like(varRef)), (OptOut, maxGradNorm, if_wanted(amsgrad, shaped_like(varRef))),
                   (In, grad, shaped_like(varRef)), (In, step, elements(1)), (Float, lr), (Float, beta1), (Float, beta2),
                   (Float, weightDecay), (Float, eps), (Bool, amsgrad), (Bool, maximize)) {
    const at::Tensor this_step = step.to(at::kFloat).reshape({}) + 1;
    std::vector<at::Tensor> maxima;
    if (amsgrad) maxima.push_back(*maxGradNorm);
    at::_fused_adamw_({varRef}, {grad}, {mRef}, {vRef}, maxima, {this_step}, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize);
}

// Without momentum there are no buffers.
static std::vector<Expected> buffers(at::TensorList params, at::TensorList given) {
    return given.empty() ? std::vector<Expected>() : shaped_like(params);
}
ATEN_ENTRY(aclnnFusedSgd, ANY, (Tensors, params), (Tensors, grads, shaped_like(params)),
           (Tensors, momentumBufferList, buffers(params, momentumBufferList)), (OptIn, gradScale, elements(1)), (Float, weightDecay),
           (Float, momentum), (Float, lr), (Float, dampening), (Bool, nesterov), (Bool, maximize), (Bool, isFirstStep)) {
    at::_fused_sgd_(params, grads, momentumBufferList, weightDecay, momentum, lr, dampening, nesterov, maximize, isFirstStep, gradScale);
}
