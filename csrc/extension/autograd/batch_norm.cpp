#include "extension/autograd/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <tuple>

#include "extension/aclnn/handles.h"
#include "extension/autograd/operator_call.h"
#include "extension/autograd/per_channel.h"

namespace torch_aclnn {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

struct BackwardArguments {
    const at::Tensor& grad_output;
    const at::Tensor& input;
    const std::optional<at::Tensor> weight;
    const at::Tensor& mean;
    const at::Tensor& invstd;
    double eps;
    std::array<bool, 3> wanted;  // gradients of input, weight and bias
};

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
        const at::Tensor mean = mean_.unpack(), invstd = invstd_.unpack();
        const at::Tensor& grad_output = gradients[0];
        if (!grad_output.defined()) return variable_list(3);
        refuse_tangents(kName, grad_output);
        const std::array<bool, 3> wanted{task_should_compute_output(0), weight.defined() && task_should_compute_output(1),
                                         bias_type_ && task_should_compute_output(2)};
        const BackwardArguments arguments{grad_output, input, weight, mean, invstd, eps_, wanted};
        const auto [grad_input, grad_weight, grad_bias] = at::GradMode::is_enabled() ? differentiable(arguments) : fused(arguments);
        return {grad_input, wanted[1] ? grad_weight.to(weight.scalar_type()) : at::Tensor(),
                wanted[2] ? grad_bias.to(*bias_type_) : at::Tensor()};
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (SavedVariable* saved : {&input_, &weight_, &mean_, &invstd_}) saved->reset_data();
    }

   private:
    static BatchNormGradients fused(const BackwardArguments& a) {
        using Signature = BatchNormGradients(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, const at::Tensor&,
                                             const at::Tensor&, double, std::array<bool, 3>);
        static const auto op = find_operator_of_package<Signature>("torch_aclnn::_batch_norm_backward");
        const at::AutoDispatchBelowADInplaceOrView guard;
        return op.call(a.grad_output, a.input, a.weight, a.mean, a.invstd, a.eps, a.wanted);
    }

    // Of operators that have derivatives; the statistics are functions of the input, too.
    static BatchNormGradients differentiable(const BackwardArguments& a) {
        const double count = elements_of_channel(a.input);
        const at::ScalarType type = a.mean.scalar_type();
        const at::Tensor x = a.input.to(type), dy = a.grad_output.to(type);
        const at::Tensor mean = sum_over_samples(x) / count;
        const at::Tensor centred = x - per_channel(mean, x);
        const at::Tensor invstd = (sum_over_samples(centred.square()) / count + a.eps).rsqrt();
        const at::Tensor sum_dy = sum_over_samples(dy), sum_dy_xmu = sum_over_samples(dy * centred);
        return {a.wanted[0] ? elementwise_of_batch(a.grad_output, a.input, mean, invstd, a.weight, sum_dy, sum_dy_xmu) : at::Tensor(),
                sum_dy_xmu * invstd, sum_dy};
    }

    SavedVariable input_, weight_, mean_, invstd_;
    std::optional<at::ScalarType> bias_type_;
    double eps_;
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
    const auto node = make_node<BatchNormNode>(arguments);
    const auto [output, mean, invstd] = [&] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return forward_with_statistics(arguments);
    }();
    node->keep(mean, invstd);
    torch::autograd::set_history(output, node);
    return output;
}

double elements_of_channel(const at::Tensor& input) {
    return static_cast<double>(input.numel() / input.size(1));
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
