// The gradients of operators on each element.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

// From the gradient and the forward's input or result.
#define BACKWARD_OPERATOR(name, ...)                                               \
    OPERATOR(name) {                                                               \
        const at::Tensor grad = call.computing(0), of_forward = call.computing(1); \
        call.write(0, __VA_ARGS__);                                                \
    }

BACKWARD_OPERATOR(ReluGrad, grad*(of_forward > 0))
BACKWARD_OPERATOR(LeakyReluGrad, at::leaky_relu_backward(grad, of_forward, call.attribute<float>("negative_slope", 0), false))
BACKWARD_OPERATOR(EluGradV2,
                  at::elu_backward(grad, call.attribute<float>("alpha", 1), call.attribute<float>("scale", 1),
                                   call.attribute<float>("input_scale", 1), call.attribute<bool>("is_result", false), of_forward))
BACKWARD_OPERATOR(HardSigmoidGrad, at::hardsigmoid_backward(grad, of_forward))
BACKWARD_OPERATOR(HardSwishGrad, at::hardswish_backward(grad, of_forward))
BACKWARD_OPERATOR(MishGrad, at::mish_backward(grad, of_forward))
BACKWARD_OPERATOR(SiluGrad, at::silu_backward(grad, of_forward))
BACKWARD_OPERATOR(LogSigmoidGrad, grad* at::sigmoid(-of_forward))
BACKWARD_OPERATOR(HardShrinkGrad, at::hardshrink_backward(grad, of_forward, call.attribute<float>("lambd", 0.5)))
BACKWARD_OPERATOR(SoftShrinkGrad, at::softshrink_backward(grad, of_forward, call.attribute<float>("lambd", 0.5)))
BACKWARD_OPERATOR(SoftplusV2Grad,
                  at::softplus_backward(grad, of_forward, call.attribute<float>("beta", 1), call.attribute<float>("threshold", 20)))
BACKWARD_OPERATOR(ThresholdGradV2D, at::threshold_backward(grad, of_forward, call.attribute<float>("threshold")))
BACKWARD_OPERATOR(GLUGrad, at::glu_backward(grad, of_forward, call.attribute<int64_t>("dim", -1)))
// The forward's result is the third input, which the gradient does not need.
BACKWARD_OPERATOR(GeluGrad, at::gelu_backward(grad, of_forward))
BACKWARD_OPERATOR(SwishGrad, at::silu_backward(grad, of_forward))
OPERATOR(FastGeluGrad) {
    const at::Tensor grad = call.computing(0), x = call.computing(1), s = at::sigmoid(x * 1.702);
    call.write(0, grad * s * (1 + 1.702 * x * (1 - s)));
}

// These have the forward's result or input first.
RESULT_OPERATOR(SigmoidGrad, at::sigmoid_backward(call.computing(1), call.computing(0)))
RESULT_OPERATOR(TanhGrad, at::tanh_backward(call.computing(1), call.computing(0)))
RESULT_OPERATOR(HardtanhGrad, at::hardtanh_backward(call.computing(1), call.computing(0), call.attribute<float>("min_val", -1),
                                                    call.attribute<float>("max_val", 1)))
