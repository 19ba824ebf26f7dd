// Gradient scaling for mixed precision, and fused optimisers.

#include "engine/aten/quantization/sign_bits.h"
#include "engine/aten/training/adam.h"
#include "vocabulary/training/optimizer_calls.h"

// torch_npu passes the first two tensors again as the results.
static void compute(const call::AmpUpdateScale& a) {
    at::Tensor scale = a.currentScale.clone(), tracker = a.growthTracker.clone();
    at::_amp_update_scale_(scale, tracker, a.foundInf, a.growthFactor, a.backoffFactor, a.growthInterval);
    write(a.updatedScale, scale);
    write(a.updatedGrowthTracker, tracker);
}

// Makes one parameter's step by ATen's kernel for lists, which goes by the number of elements of the parameter alone. `step` counts the
// steps before this one, and `updated` has the parameter, its moments, and with amsgrad the largest second moment so far.
using FusedStep = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, double, double,
                       double, double, double, bool, bool, const OptTensor&, const OptTensor&);
struct StepOptions {
    double lr, beta1, beta2, weight_decay, epsilon;
    bool amsgrad, maximize;
    OptTensor grad_scale = std::nullopt, found_inf = std::nullopt;
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
static void compute(const call::ApplyAdamWV2& a) {
    std::vector<at::Tensor> updated{a.varRef, a.mRef, a.vRef};
    if (a.amsgrad) updated.push_back(*a.maxGradNorm);
    after_step(at::_fused_adamw_, updated, a.grad, a.step, {a.lr, a.beta1, a.beta2, a.weightDecay, a.eps, a.amsgrad, a.maximize});
}

// torch_npu passes zeros as the largest second moments that are not asked for. Where gradients are scaled, they are written without their
// scale, and nothing is updated where a gradient was not finite.
static std::vector<Expected> maxima(at::TensorList params, at::TensorList given, bool amsgrad) {
    return given.empty() && !amsgrad ? std::vector<Expected>() : shaped_like(params);
}
static void compute(const call::FusedAdam& a) {
    for (size_t i = 0; i < a.paramsRef.size(); i++) {
        std::vector<at::Tensor> updated{a.paramsRef[i], a.expAvgsRef[i], a.expAvgSqsRef[i]};
        if (a.amsgrad) updated.push_back(a.maxExpAvgSqsRef[i]);
        const at::Tensor gradient =
            after_step(at::_fused_adam_, updated, a.gradsRef[i], a.stateSteps[i],
                       {a.lr, a.beta1, a.beta2, a.weightDecay, a.eps, a.amsgrad, a.maximize, a.gradScale, a.foundInf});
        if (a.gradScale) write(a.gradsRef[i], gradient);
    }
}

// Without momentum there are no buffers.
static std::vector<Expected> buffers(at::TensorList params, at::TensorList given, float momentum) {
    return given.empty() && momentum == 0 ? std::vector<Expected>() : shaped_like(params);
}
// ATen's kernel for lists reads other memory with half types.
static void compute(const call::FusedSgd& a) {
    InPlace values(a.params), gradients(a.grads), buffers(a.momentum == 0 ? at::TensorList() : a.momentumBufferList);
    at::_fused_sgd_(values.all(), gradients.all(), buffers.all(), a.weightDecay, a.momentum, a.lr, a.dampening, a.nesterov, a.maximize,
                    a.isFirstStep, a.gradScale);
    for (InPlace* written : {&values, &gradients, &buffers}) written->write_back();
}

static double one(const at::Tensor& number) {
    return number.item().toDouble();
}
static void write_state(at::TensorList refs, const AdamState& state) {
    for (size_t i = 0; i < state.size(); i++) write(refs[i], state[i]);
}
static void compute(const call::ApplyAdamW& a) {
    const at::Tensor gradient = a.maximize ? -upcast(a.grad) : upcast(a.grad);
    const OptTensor largest = a.amsgrad ? upcast(a.maxGradNorm) : std::nullopt;
    write_state({a.varRef, a.mRef, a.vRef},
                after_adamw({upcast(a.varRef), upcast(a.mRef), upcast(a.vRef)},
                            {one(a.beta1Power), one(a.beta2Power), one(a.lr), one(a.beta1), one(a.beta2), one(a.epsilon)},
                            one(a.weightDecay), gradient, largest));
}

// Adam, or AdamW with mode 1, and the moving average of its parameters.
static void compute(const call::ApplyFusedEmaAdam& a) {
    const double decoupled = a.mode == 1 ? a.weightDecay : 0;
    const at::Tensor before = upcast(a.varRef), gradient = upcast(a.grad) + before * (a.weightDecay - decoupled);
    const auto corrected = [&](const at::Tensor& moment, double beta) {
        return a.biasCorrection ? moment / (1 - std::pow(beta, one(a.step))) : moment;
    };
    const at::Tensor m = upcast(a.mRef) * a.beta1 + gradient * (1 - a.beta1),
                     v = upcast(a.vRef) * a.beta2 + gradient * gradient * (1 - a.beta2);
    const at::Tensor update = corrected(m, a.beta1) / (corrected(v, a.beta2).sqrt() + a.eps) + before * decoupled,
                     after = before - update * a.lr;
    write(a.sRef, upcast(a.sRef) * a.emaDecay + after * (1 - a.emaDecay));
    write_state({a.varRef, a.mRef, a.vRef}, {after, m, v});
}

// The shape of the signs of 1-bit Adam, which are packed into bytes, in `count` rows.
static Expected in_rows(int64_t count, int64_t size) {
    require_divisor("size", size, count);
    return shape({size, count / size});
}
