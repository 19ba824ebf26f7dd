// Gradient scaling for mixed precision, and fused optimisers.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/results.h"

using namespace torch_aclnn::host::aten;

// foundInf is set where there is reason to, never reset.
ATEN_ENTRY(aclnnForeachNonFiniteCheckAndUnscale, ANY, (Tensors, scaledGrads), (Out, foundInf), (In, invScale)) {
    at::_amp_foreach_non_finite_check_and_unscale_(scaledGrads, foundInf, invScale);
}

// torch_npu passes the first two tensors again as the results.
ATEN_ENTRY(aclnnAmpUpdateScale, ANY, (In, currentScale), (In, growthTracker), (In, foundInf), (Double, growthFactor),
           (Double, backoffFactor), (Positive, growthInterval), (Out, updatedScale), (Out, updatedGrowthTracker)) {
    at::Tensor scale = currentScale.clone(), tracker = growthTracker.clone();
    at::_amp_update_scale_(scale, tracker, foundInf, growthFactor, backoffFactor, growthInterval);
    write(updatedScale, scale);
    write(updatedGrowthTracker, tracker);
}

// One parameter of AdamW. `step` counts the steps before this one; maxGradNorm is the largest second moment so far, with amsgrad.
ATEN_ENTRY(aclnnApplyAdamWV2, ANY, (Out, varRef), (Out, mRef), (Out, vRef), (OptOut, maxGradNorm), (In, grad), (In, step), (Float, lr),
           (Float, beta1), (Float, beta2), (Float, weightDecay), (Float, eps), (Bool, amsgrad), (Bool, maximize)) {
    const at::Tensor this_step = step.to(at::kFloat).reshape({}) + 1;
    std::vector<at::Tensor> maxima;
    if (amsgrad && maxGradNorm) maxima.push_back(*maxGradNorm);
    at::_fused_adamw_({varRef}, {grad}, {mRef}, {vRef}, maxima, {this_step}, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize);
}

ATEN_CHECKED_ENTRY(aclnnFusedSgd, ANY, require_as_many({{"grads", grads}}, {"params", params}), (Tensors, params), (Tensors, grads),
                   (Tensors, momentumBufferList), (OptIn, gradScale), (Float, weightDecay), (Float, momentum), (Float, lr),
                   (Float, dampening), (Bool, nesterov), (Bool, maximize), (Bool, isFirstStep)) {
    at::_fused_sgd_(params, grads, momentumBufferList, weightDecay, momentum, lr, dampening, nesterov, maximize, isFirstStep, gradScale);
}
