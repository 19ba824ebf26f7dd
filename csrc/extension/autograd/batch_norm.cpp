#include "extension/autograd/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm_backward_reduce.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <tuple>

#include "extension/autograd/operator_call.h"
#include "extension/autograd/per_channel.h"

namespace torch_aclnn {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// Of a batch: sums of dy, of dy * (x - mean), and the gradients of weight and bias, each per channel.
struct Sums {
    at::Tensor dy, dy_xmu, grad_weight, grad_bias;
};

// One pass over memory, as torch's own backward makes.
Sums fused_sums(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& mean,
                const at::Tensor& invstd, double eps) {
    if (input.is_privateuseone()) {
        const auto [dy, dy_xmu, grad_weight, grad_bias] =
            at::batch_norm_backward_reduce(grad_output, input, mean, invstd, weight, /*input_g=*/true, /*weight_g=*/true, /*bias_g=*/true);
        return {dy, dy_xmu, grad_weight, grad_bias};
    }
    const auto [unused, grad_weight, grad_bias] =
        at::native_batch_norm_backward(grad_output, input, weight, {}, {}, mean, invstd, /*train=*/true, eps, {false, true, true});
    return {grad_bias, grad_weight / invstd, grad_weight, grad_bias};
}

// The same of torch's operators that have derivatives; the statistics are functions of the input, too.
Sums differentiable_sums(const at::Tensor& grad_output, const at::Tensor& input, at::Tensor& mean, at::Tensor& invstd, double eps) {
    const double count = static_cast<double>(input.numel() / input.size(1));
    const at::Tensor x = input.to(mean.scalar_type()), dy = grad_output.to(mean.scalar_type());
    mean = sum_over_samples(x) / count;
    const at::Tensor centred = x - per_channel(mean, x);
    invstd = (sum_over_samples(centred.square()) / count + eps).rsqrt();
    const at::Tensor sum_dy = sum_over_samples(dy), sum_dy_xmu = sum_over_samples(dy * centred);
    return {sum_dy, sum_dy_xmu, sum_dy_xmu * invstd, sum_dy};
}

class BatchNormNode final : public DerivativeNode {
   public:
    explicit BatchNormNode(const BatchNormArguments& arguments)
        : input_(arguments.input, /*is_output=*/false),
          weight_(arguments.weight, /*is_output=*/false),
          bias_type_(arguments.bias.defined() ? std::optional(arguments.bias.scalar_type()) : std::nullopt),
          eps_(arguments.eps) {
        set_next_edges(torch::autograd::collect_next_edges(arguments.input, arguments.weight, arguments.bias));
    }
    static constexpr const char* kName = "BatchNormBackward";
    std::string name() const override { return kName; }
    void keep(const at::Tensor& mean, const at::Tensor& invstd) {
        mean_ = SavedVariable(mean, /*is_output=*/false);
        invstd_ = SavedVariable(invstd, /*is_output=*/false);
    }

    variable_list differentiate(const variable_list& gradients) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        const at::Tensor input = input_.unpack(), weight = weight_.unpack();
        at::Tensor mean = mean_.unpack(), invstd = invstd_.unpack();
        const at::Tensor& grad_output = gradients[0];
        if (!grad_output.defined()) return variable_list(3);
        refuse_tangents(kName, grad_output);
        const Sums sums = at::GradMode::is_enabled() ? differentiable_sums(grad_output, input, mean, invstd, eps_)
                                                     : fused_sums(grad_output, input, weight, mean, invstd, eps_);
        variable_list result(3);
        if (task_should_compute_output(0)) result[0] = elementwise(grad_output, input, mean, invstd, weight, sums);
        if (weight.defined() && task_should_compute_output(1)) result[1] = sums.grad_weight.to(weight.scalar_type());
        if (bias_type_ && task_should_compute_output(2)) result[2] = sums.grad_bias.to(*bias_type_);
        return result;
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (SavedVariable* saved : {&input_, &weight_, &mean_, &invstd_}) saved->reset_data();
    }

   private:
    static at::Tensor elementwise(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
                                  const at::Tensor& weight, const Sums& sums) {
        using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                     const std::optional<at::Tensor>&, const at::Tensor&, const at::Tensor&, const at::Tensor&);
        static const auto op = find_operator_of_package<Signature>("torch_aclnn::batch_norm_elemt_backward");
        const at::Tensor count = at::full({1}, static_cast<double>(input.numel() / input.size(1)), mean.options());
        const auto scale = weight.defined() ? std::optional(weight) : std::nullopt;
        return op.call(grad_output, input, mean, invstd, scale, sums.dy, sums.dy_xmu, count);
    }

    SavedVariable input_, weight_, mean_, invstd_;
    std::optional<at::ScalarType> bias_type_;
    double eps_;
};

// output, mean, 1/sqrt(variance + eps)
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(const BatchNormArguments& a) {
    return at::native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, /*training=*/true, a.momentum, a.eps);
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
    if (!records(arguments.input) && !records(arguments.weight) && !records(arguments.bias)) return std::get<0>(forward(arguments));
    const auto node = make_node<BatchNormNode>(arguments);
    const auto [output, mean, invstd] = [&] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return forward(arguments);
    }();
    node->keep(mean, invstd);
    torch::autograd::set_history(output, node);
    return output;
}

}  // namespace torch_aclnn
