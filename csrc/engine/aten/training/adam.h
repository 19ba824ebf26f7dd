// Adam's steps, with powers of the betas that the caller keeps. What they return takes the place of the parameter and its moments.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cmath>

namespace torch_aclnn::host::aten {

struct AdamNumbers {
    double beta1_power, beta2_power, lr, beta1, beta2, epsilon;
};
using AdamState = std::array<at::Tensor, 3>;  // the parameter, and the first and second moment

inline AdamState with_gradient(const AdamState& state, const AdamNumbers& n, const at::Tensor& grad) {
    return {state[0], state[1] * n.beta1 + grad * (1 - n.beta1), state[2] * n.beta2 + grad * grad * (1 - n.beta2)};
}

// The powers belong to this step.
inline AdamState after_adam(const AdamState& state, const AdamNumbers& n, const at::Tensor& grad, bool nesterov) {
    const auto [var, m, v] = with_gradient(state, n, grad);
    const at::Tensor towards = nesterov ? m * n.beta1 + grad * (1 - n.beta1) : m;
    const double step = n.lr * std::sqrt(1 - n.beta2_power) / (1 - n.beta1_power);
    return {var - step * towards / (v.sqrt() + n.epsilon), m, v};
}

// The powers belong to the step before. The largest second moment so far takes the place of the second moment where it is given.
inline AdamState after_adamw(const AdamState& state, const AdamNumbers& n, double decay, const at::Tensor& grad, const OptTensor& largest) {
    const auto [var, m, v] = with_gradient(state, n, grad);
    const at::Tensor spread = ((largest ? at::maximum(*largest, v) : v) / (1 - n.beta2_power * n.beta2)).sqrt() + n.epsilon;
    return {var * (1 - n.lr * decay) - n.lr / (1 - n.beta1_power * n.beta1) * m / spread, m, v};
}

}  // namespace torch_aclnn::host::aten
