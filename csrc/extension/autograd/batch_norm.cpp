#include "extension/autograd/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>

#include "extension/aclnn/handles.h"
#include "extension/autograd/batch_norm_elemt.h"
#include "extension/autograd/operator_call.h"

namespace torch_aclnn {
namespace {

struct BatchNormDerivative {
    static constexpr const char* kName = "BatchNormBackward";

    at::Tensor input, weight, mean, invstd;
    std::optional<at::ScalarType> bias_type;
    double eps;

    static auto fields(auto& self) { return std::tie(self.input, self.weight, self.mean, self.invstd, self.bias_type, self.eps); }

    // Returns the gradients of input, weight and bias.
    variable_list operator()(const variable_list& gradients, const Wanted& wanted) const {
        const at::Tensor& grad_output = gradients[0];
        if (!grad_output.defined()) return variable_list(3);
        refuse_tangents(kName, grad_output);
        const std::array<bool, 3> possible{wanted[0], weight.defined() && wanted[1], bias_type && wanted[2]};
        const auto [grad_input, grad_weight, grad_bias] =
            at::GradMode::is_enabled() ? differentiable(grad_output, possible[0]) : fused(grad_output, possible);
        return {grad_input, possible[1] ? grad_weight.to(weight.scalar_type()) : at::Tensor(),
                possible[2] ? grad_bias.to(*bias_type) : at::Tensor()};
    }

   private:
    BatchNormGradients fused(const at::Tensor& grad_output, std::array<bool, 3> wanted) const {
        using Signature = BatchNormGradients(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, const at::Tensor&,
                                             const at::Tensor&, double, std::array<bool, 3>);
        static const auto op = find_operator_of_package<Signature>("torch_aclnn::_batch_norm_backward");
        const at::AutoDispatchBelowADInplaceOrView guard;
        return op.call(grad_output, input, weight, mean, invstd, eps, wanted);
    }

    // Computes the gradients by operators that have derivatives. The statistics are functions of the input, too.
    BatchNormGradients differentiable(const at::Tensor& grad_output, bool wants_input) const {
        const at::Scalar count = elements_of_channel(input);
        const at::ScalarType type = mean.scalar_type();
        const at::Tensor x = input.to(type), dy = grad_output.to(type);
        const at::Tensor own_mean = sum_over_samples(x) / count;
        const at::Tensor centred = x - per_channel(own_mean, x);
        const at::Tensor own_invstd = (sum_over_samples(centred.square()) / count + eps).rsqrt();
        const at::Tensor sum_dy = sum_over_samples(dy), sum_dy_xmu = sum_over_samples(dy * centred);
        return {wants_input ? elementwise_of_batch(grad_output, input, own_mean, own_invstd, weight, sum_dy, sum_dy_xmu) : at::Tensor(),
                sum_dy_xmu * own_invstd, sum_dy};
    }
};

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm(const BatchNormArguments& a) {
    return at::native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, /*training=*/true, a.momentum, a.eps);
}

// output, mean, 1/sqrt(variance + eps)
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward_with_statistics(const BatchNormArguments& a) {
    auto result = native_batch_norm(a);
    if (!a.input.is_privateuseone()) return result;
    // No document says what torch_npu's third result is, which only its own backward reads; it is the variance. aclnnBatchNormStats has
    // both statistics documented, for float32 and float16. torch_npu allocates them in the input's format, which a volume's private one
    // does not allow for a vector.
    const at::Tensor listed = a.input.scalar_type() == at::kBFloat16 ? a.input.to(at::kFloat) : a.input;
    std::tie(std::get<1>(result), std::get<2>(result)) = at::batch_norm_stats(in_base_format(listed), a.eps);
    return result;
}

}  // namespace

bool has_fused_batch_norm(const BatchNormArguments& arguments) {
    const at::ScalarType type = arguments.input.scalar_type();
    const bool is_half = type == at::kHalf || type == at::kBFloat16;
    if (arguments.input.is_privateuseone() && type == at::kDouble) return false;
    bool has_parameters = false;
    for (const at::Tensor& parameter : {arguments.running_mean, arguments.running_var, arguments.weight, arguments.bias}) {
        if (!parameter.defined()) continue;
        has_parameters = true;
        if (parameter.scalar_type() != (is_half ? at::kFloat : type)) return false;
    }
    return has_parameters || !is_half || arguments.input.is_privateuseone();
}

at::Tensor train_batch_norm(const BatchNormArguments& arguments) {
    if (!records(arguments.input) && !records(arguments.weight) && !records(arguments.bias))
        return std::get<0>(native_batch_norm(arguments));
    const auto [output, mean, invstd] = [&] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return forward_with_statistics(arguments);
    }();
    const at::Tensor& bias = arguments.bias;
    const auto bias_type = bias.defined() ? std::optional(bias.scalar_type()) : std::nullopt;
    const BatchNormDerivative derivative{arguments.input, arguments.weight, mean, invstd, bias_type, arguments.eps};
    set_derivative(output, derivative, arguments.input, arguments.weight, bias);
    return output;
}

c10::SymInt elements_of_channel(const at::Tensor& input) {
    return input.sym_numel() / input.sym_size(1);
}

at::Tensor elementwise_of_batch(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
                                const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu) {
    using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                 const std::optional<at::Tensor>&, const at::Tensor&, const at::Tensor&, const at::Tensor&);
    static const auto op = find_operator_of_package<Signature>("torch_aclnn::batch_norm_elemt_backward");
    const at::Tensor count = at::full({1}, elements_of_channel(input), mean.options());
    return op.call(grad_output, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count);
}

}  // namespace torch_aclnn
