// Gradient scaling for mixed precision, and fused optimisers.
#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/adam.h"
#include "engine/aten/composite/sign_bits.h"

#define ATEN_FAMILY "optimiser"
using namespace torch_aclnn::host::aten;

// foundInf is set where there is reason to, never reset.
ATEN_ENTRY(aclnnForeachNonFiniteCheckAndUnscale, FLOATING, (TensorsInOut, scaledGrads), (InOut, foundInf, elements(1)),
           (In, invScale, elements(1))) {
    at::_amp_foreach_non_finite_check_and_unscale_(scaledGrads, foundInf, invScale);
}

namespace torch_aclnn::host::aten::kind {
struct Step : In {
    ATEN_TYPES(In, INT64 | FLOAT);
};
struct CountOut : Out {
    ATEN_TYPES(Out, INT32);
};
struct BytesOut : Out {
    ATEN_TYPES(Out, UINT8);
};
}  // namespace torch_aclnn::host::aten::kind

// torch_npu passes the first two tensors again as the results.
ATEN_ENTRY(aclnnAmpUpdateScale, ANY, (In, currentScale, elements(1)), (Int32s, growthTracker, elements(1)), (In, foundInf, elements(1)),
           (Double, growthFactor), (Double, backoffFactor), (Positive, growthInterval), (Out, updatedScale, elements(1)),
           (CountOut, updatedGrowthTracker, elements(1))) {
    at::Tensor scale = currentScale.clone(), tracker = growthTracker.clone();
    at::_amp_update_scale_(scale, tracker, foundInf, growthFactor, backoffFactor, growthInterval);
    write(updatedScale, scale);
    write(updatedGrowthTracker, tracker);
}

// One parameter's step by ATen's kernel for lists, which goes by the number of elements of the parameter alone. `step` counts the steps
// before this one, and `updated` has the parameter, its moments, and with amsgrad the largest second moment so far.
using FusedStep = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, double, double,
                       double, double, double, bool, bool, const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);
struct StepOptions {
    double lr, beta1, beta2, weight_decay, epsilon;
    bool amsgrad, maximize;
    std::optional<at::Tensor> grad_scale = std::nullopt, found_inf = std::nullopt;
};
static at::Tensor after_step(FusedStep* fused, const std::vector<at::Tensor>& updated, const at::Tensor& grad, const at::Tensor& step,
                             const StepOptions& o) {
    float number = step.item().toFloat() + 1;
    const at::Tensor this_step = view_of(&number, sizeof number, {}, {}, at::kFloat);
    // ATen's kernel has one data type for all, and takes no strides. What differs is computed in FLOAT.
    const bool mixed =
        std::any_of(updated.begin(), updated.end(), [&](const at::Tensor& t) { return t.scalar_type() != grad.scalar_type(); });
    const auto computed = [&](const at::Tensor& tensor) { return (mixed ? tensor.to(at::kFloat) : tensor).contiguous(); };
    std::vector<at::Tensor> results;
    for (const at::Tensor& tensor : updated) results.push_back(computed(tensor));
    const at::Tensor gradient = computed(grad);
    fused({results[0]}, {gradient}, {results[1]}, {results[2]}, at::TensorList(results).slice(3), {this_step}, o.lr, o.beta1, o.beta2,
          o.weight_decay, o.epsilon, o.amsgrad, o.maximize, o.grad_scale, o.found_inf);
    for (size_t i = 0; i < updated.size(); ++i) write(updated[i], results[i]);
    return gradient;
}
static void require_maxima(bool amsgrad, const std::optional<at::Tensor>& maxima) {
    if (amsgrad && !maxima) torch_aclnn::host::refuse_null("maxGradNorm", "a tensor, as amsgrad is set");
}
ATEN_CHECKED_ENTRY(aclnnApplyAdamWV2, FLOATING, require_maxima(amsgrad, maxGradNorm), (InOut, varRef), (InOut, mRef, shaped_like(varRef)),
                   (InOut, vRef, shaped_like(varRef)), (OptInOut, maxGradNorm, if_wanted(amsgrad, shaped_like(varRef))),
                   (In, grad, shaped_like(varRef)), (Step, step, elements(1)), (Float, lr), (Float, beta1), (Float, beta2),
                   (Float, weightDecay), (Float, eps), (Bool, amsgrad), (Bool, maximize)) {
    std::vector<at::Tensor> updated{varRef, mRef, vRef};
    if (amsgrad) updated.push_back(*maxGradNorm);
    after_step(at::_fused_adamw_, updated, grad, step, {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize});
}

// torch_npu passes zeros as the largest second moments that are not asked for. Where gradients are scaled, they are written without their
// scale, and nothing is updated where a gradient was not finite.
static std::vector<Expected> maxima(at::TensorList params, at::TensorList given, bool amsgrad) {
    return given.empty() && !amsgrad ? std::vector<Expected>() : shaped_like(params);
}
ATEN_ENTRY(aclnnFusedAdam, FLOATING, (TensorsInOut, paramsRef), (TensorsInOut, gradsRef, shaped_like(paramsRef)),
           (TensorsInOut, expAvgsRef, shaped_like(paramsRef)), (TensorsInOut, expAvgSqsRef, shaped_like(paramsRef)),
           (TensorsInOut, maxExpAvgSqsRef, maxima(paramsRef, maxExpAvgSqsRef, amsgrad)),
           (Tensors, stateSteps, std::vector<Elements>(paramsRef.size(), elements(1))), (OptIn, gradScale, elements(1)),
           (OptIn, foundInf, elements(1)), (Double, lr), (Double, beta1), (Double, beta2), (Double, weightDecay), (Double, eps),
           (Bool, amsgrad), (Bool, maximize)) {
    for (size_t i = 0; i < paramsRef.size(); i++) {
        std::vector<at::Tensor> updated{paramsRef[i], expAvgsRef[i], expAvgSqsRef[i]};
        if (amsgrad) updated.push_back(maxExpAvgSqsRef[i]);
        const at::Tensor gradient = after_step(at::_fused_adam_, updated, gradsRef[i], stateSteps[i],
                                               {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize, gradScale, foundInf});
        if (gradScale) write(gradsRef[i], gradient);
    }
}

// Without momentum there are no buffers.
static std::vector<Expected> buffers(at::TensorList params, at::TensorList given, float momentum) {
    return given.empty() && momentum == 0 ? std::vector<Expected>() : shaped_like(params);
}
// ATen's kernel for lists reads other memory with half types.
ATEN_ENTRY(aclnnFusedSgd, ANY, (TensorsInOut, params), (TensorsInOut, grads, shaped_like(params)),
           (TensorsInOut, momentumBufferList, buffers(params, momentumBufferList, momentum)), (OptIn, gradScale, elements(1)),
           (Float, weightDecay), (Float, momentum), (Float, lr), (Float, dampening), (Bool, nesterov), (Bool, maximize),
           (Bool, isFirstStep)) {
    InPlace values(params), gradients(grads), buffers(momentum == 0 ? at::TensorList() : momentumBufferList);
    at::_fused_sgd_(values.all(), gradients.all(), buffers.all(), weightDecay, momentum, lr, dampening, nesterov, maximize, isFirstStep,
                    gradScale);
    for (InPlace* written : {&values, &gradients, &buffers}) written->write_back();
}

// Adam with its numbers in tensors of one element.
#define ADAM_STATE {upcast(varRef), upcast(mRef), upcast(vRef)}
#define ADAM_NUMBERS {one(beta1Power), one(beta2Power), one(lr), one(beta1), one(beta2), one(epsilon)}
static double one(const at::Tensor& number) {
    return number.item().toDouble();
}
static void write_state(at::TensorList refs, const AdamState& state) {
    for (size_t i = 0; i < state.size(); i++) write(refs[i], state[i]);
}
ATEN_ENTRY(aclnnApplyAdam, ANY, (InOut, varRef), (InOut, mRef, shaped_like(varRef)), (InOut, vRef, shaped_like(varRef)),
           (In, beta1Power, elements(1)), (In, beta2Power, elements(1)), (In, lr, elements(1)), (In, beta1, elements(1)),
           (In, beta2, elements(1)), (In, epsilon, elements(1)), (In, grad, shaped_like(varRef)), (Bool, useLocking), (Bool, useNesterov)) {
    write_state({varRef, mRef, vRef}, after_adam(ADAM_STATE, ADAM_NUMBERS, upcast(grad), useNesterov));
}
ATEN_CHECKED_ENTRY(aclnnApplyAdamW, FLOATING, require_maxima(amsgrad, maxGradNorm), (InOut, varRef), (InOut, mRef, shaped_like(varRef)),
                   (InOut, vRef, shaped_like(varRef)), (In, beta1Power, elements(1)), (In, beta2Power, elements(1)), (In, lr, elements(1)),
                   (In, weightDecay, elements(1)), (In, beta1, elements(1)), (In, beta2, elements(1)), (In, epsilon, elements(1)),
                   (In, grad, shaped_like(varRef)), (OptIn, maxGradNorm, shaped_like(varRef)), (Bool, amsgrad), (Bool, maximize)) {
    const at::Tensor gradient = maximize ? -upcast(grad) : upcast(grad);
    const std::optional<at::Tensor> largest = amsgrad ? upcast(maxGradNorm) : std::nullopt;
    write_state({varRef, mRef, vRef}, after_adamw(ADAM_STATE, ADAM_NUMBERS, one(weightDecay), gradient, largest));
}

// Adam, or AdamW with mode 1, and the moving average of its parameters.
ATEN_ENTRY(aclnnApplyFusedEmaAdam, FLOATING, (In, grad, shaped_like(varRef)), (InOut, varRef), (InOut, mRef, shaped_like(varRef)),
           (InOut, vRef, shaped_like(varRef)), (InOut, sRef, shaped_like(varRef)), (Step, step, elements(1)), (Double, lr),
           (Double, emaDecay), (Double, beta1), (Double, beta2), (Double, eps), (TrueOrNot, mode), (Bool, biasCorrection),
           (Double, weightDecay)) {
    const double decoupled = mode == 1 ? weightDecay : 0;
    const at::Tensor before = upcast(varRef), gradient = upcast(grad) + before * (weightDecay - decoupled);
    const auto corrected = [&](const at::Tensor& moment, double beta) {
        return biasCorrection ? moment / (1 - std::pow(beta, one(step))) : moment;
    };
    const at::Tensor m = upcast(mRef) * beta1 + gradient * (1 - beta1), v = upcast(vRef) * beta2 + gradient * gradient * (1 - beta2);
    const at::Tensor update = corrected(m, beta1) / (corrected(v, beta2).sqrt() + eps) + before * decoupled, after = before - update * lr;
    write(sRef, upcast(sRef) * emaDecay + after * (1 - emaDecay));
    write_state({varRef, mRef, vRef}, {after, m, v});
}

// Of 1-bit Adam: signs in bytes, in so many rows.
static Expected in_rows(int64_t count, int64_t size) {
    if (count % size != 0) torch_aclnn::host::refuse("size", c10::str("a divisor of ", count), std::to_string(size));
    return shape({size, count / size});
}
ATEN_ENTRY(aclnnSignBitsPack, FLOAT | FLOAT16, (In, self, rank(1)), (Positive, size),
           (BytesOut, out, in_rows((self.numel() + 7) / 8, size))) {
    write(out, packed_signs(self).reshape(out.sizes()));
}
ATEN_ENTRY(aclnnSignBitsUnpack, UINT8, (In, self, rank(1)), (Positive, size), (DType, dtype),
           (Out, out, Expected(in_rows(8 * self.numel(), size).sizes, dtype))) {
    write(out, unpacked_signs(self).reshape(out.sizes()));
}
