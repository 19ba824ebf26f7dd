#include "extension/autograd/batch_norm_elemt.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <torch/library.h>

namespace torch_aclnn {

// The result is ((dy - sum_dy/n) - (x - mean) * slope) * scale, with slope = invstd^2 * sum_dy_xmu/n and scale = invstd * weight.
variable_list BatchNormElemtArguments::operator()(const variable_list& gradients, const Wanted&) const {
    const at::Tensor& gradient = gradients[0];
    if (!gradient.defined()) return variable_list(8);
    const at::Tensor &dy = grad_out, &x = input;
    const auto type = mean.scalar_type();
    const at::Tensor n = count.sum(), gamma = weight.defined() ? weight.to(invstd.scalar_type()) : at::ones_like(invstd);
    const at::Tensor slope = invstd.square() * sum_dy_xmu / n, scale = invstd * gamma;
    const at::Tensor centred = x.to(type) - per_channel(mean, x);
    const at::Tensor bracket = dy.to(type) - per_channel(sum_dy / n, x) - centred * per_channel(slope, x);
    const at::Tensor g = gradient.to(type) * per_channel(scale, x);
    const at::Tensor sum_g = sum_over_samples(g), sum_g_xmu = sum_over_samples(g * centred);
    const at::Tensor by_scale = sum_over_samples(gradient.to(type) * bracket);
    return {g.to(dy.scalar_type()),
            (-g * per_channel(slope, x)).to(x.scalar_type()),
            sum_g * slope,
            by_scale * gamma - sum_g_xmu * 2 * invstd * sum_dy_xmu / n,
            weight.defined() ? (by_scale * invstd).to(weight.scalar_type()) : at::Tensor(),
            -sum_g / n,
            -sum_g_xmu * invstd.square() / n,
            at::Tensor()};
}

// The derivative, which the functions in Python use too. It consists of torch's operators, which torch.func and torch.compile know.
static std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> derivative(
    const at::Tensor& gradient, const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& count) {
    const BatchNormElemtArguments arguments{grad_out, input, mean, invstd, weight.value_or(at::Tensor()), sum_dy, sum_dy_xmu, count};
    const variable_list result = arguments({gradient}, Wanted{});
    return {result[0], result[1], result[2], result[3], result[4], result[5], result[6]};
}

TORCH_LIBRARY_FRAGMENT(torch_aclnn, m) {
    m.def(
        "_batch_norm_elemt_backward_derivative(Tensor gradient, Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, "
        "Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
        derivative);
}

}  // namespace torch_aclnn
