// Gradient scaling for mixed precision, and fused optimisers.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "optimiser"
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

namespace {

// ATen's fused kernels go by the number of elements of the parameter alone.
void require_shapes_of(const NamedShape& parameter, std::initializer_list<NamedShape> states) {
    for (const NamedShape& state : states) require_same_shape(state, parameter);
}
void require_shapes_of(at::TensorList params, const char* name, at::TensorList states) {
    require_as_many({{name, states}}, {"params", params});
    for (size_t i = 0; i < params.size(); i++) require_same_shape({name, states[i]}, {"params", params[i]});
}
void require_maxima(bool amsgrad, const std::optional<at::Tensor>& maxima, const at::Tensor& parameter) {
    if (!amsgrad) return;
    if (!maxima) torch_aclnn::host::refuse_null("maxGradNorm", "a tensor, as amsgrad is set");
    require_same_shape({"maxGradNorm", *maxima}, {"varRef", parameter});
}

}  // namespace

// One parameter of AdamW. `step` counts the steps before this one; maxGradNorm is the largest second moment so far, with amsgrad.
ATEN_CHECKED_ENTRY(aclnnApplyAdamWV2, ANY,
                   (require_shapes_of({"varRef", varRef}, {{"mRef", mRef}, {"vRef", vRef}, {"grad", grad}}),
                    require_maxima(amsgrad, maxGradNorm, varRef)),
                   (Out, varRef), (Out, mRef), (Out, vRef), (OptOut, maxGradNorm), (In, grad), (In, step), (Float, lr), (Float, beta1),
                   (Float, beta2), (Float, weightDecay), (Float, eps), (Bool, amsgrad), (Bool, maximize)) {
    const at::Tensor this_step = step.to(at::kFloat).reshape({}) + 1;
    std::vector<at::Tensor> maxima;
    if (amsgrad) maxima.push_back(*maxGradNorm);
    at::_fused_adamw_({varRef}, {grad}, {mRef}, {vRef}, maxima, {this_step}, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize);
}

ATEN_CHECKED_ENTRY(aclnnFusedSgd, ANY, require_shapes_of(params, "grads", grads), (Tensors, params), (Tensors, grads),
                   (Tensors, momentumBufferList), (OptIn, gradScale), (Float, weightDecay), (Float, momentum), (Float, lr),
                   (Float, dampening), (Bool, nesterov), (Bool, maximize), (Bool, isFirstStep)) {
    at::_fused_sgd_(params, grads, momentumBufferList, weightDecay, momentum, lr, dampening, nesterov, maximize, isFirstStep, gradScale);
}
