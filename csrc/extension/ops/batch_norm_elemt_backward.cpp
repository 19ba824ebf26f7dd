#include "kernels/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

#include <ATen/ops/empty_like.h>

#include "extension/aclnn/fill.h"
#include "extension/autograd/batch_norm_elemt.h"
#include "extension/ops/batch_norm_elemt_backward.h"
#include "extension/ops/common.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_batch_norm_elemt_backward.h"

namespace torch_aclnn {

void call_batch_norm_elemt_backward(const BatchNormElemtArguments& arguments, const at::Tensor& grad_input) {
    static const EntryPoint<decltype(aclnnBatchNormElemtBackwardGetWorkspaceSize)> entry_point("aclnnBatchNormElemtBackward");
    const auto& [grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, counter] = arguments;
    at::Tensor scale = weight;
    if (!scale.defined()) {  // the document requires a weight
        scale = empty_on_npu(invstd, invstd.sizes());
        fill(scale, 1);
    }
    call(entry_point, grad_out, input, mean, invstd, scale, sum_dy, sum_dy_xmu, counter, grad_input);
}

namespace {

struct BatchNormElemtBackward {
    static constexpr const char* kOp = "batch_norm_elemt_backward";
    static std::string parameters() {
        return "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count";
    }
    using Signature = void(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                           const at::Tensor&, const at::Tensor&, const at::Tensor&);

    const at::Tensor& grad_out;
    const at::Tensor& input;
    const at::Tensor& mean;
    const at::Tensor& invstd;
    const std::optional<at::Tensor>& weight;
    const at::Tensor& sum_dy;
    const at::Tensor& sum_dy_xmu;
    const at::Tensor& count;

    // An undefined weight stands for ones.
    const at::Tensor& weight_or_undefined() const {
        static const at::Tensor undefined;
        return weight ? *weight : undefined;
    }

    void check() const;
    const at::Tensor& like() const { return input; }
    at::Tensor empty_result() const {
        return input.is_privateuseone() ? empty_contiguous(input, input.sym_sizes()) : at::empty_like(input);
    }
    void prepare_out(const at::Tensor& out) const {
        torch_aclnn::prepare_out(kOp, out, input, input.sym_sizes(),
                                 {{"grad_out", grad_out},
                                  {"input", input},
                                  {"mean", mean},
                                  {"invstd", invstd},
                                  {"weight", weight_or_undefined()},
                                  {"sum_dy", sum_dy},
                                  {"sum_dy_xmu", sum_dy_xmu},
                                  {"count", count}});
    }
    BatchNormElemtArguments arguments() const { return {grad_out, input, mean, invstd, weight_or_undefined(), sum_dy, sum_dy_xmu, count}; }
    at::Tensor record(const auto& compute) const {
        const BatchNormElemtArguments all = arguments();
        return std::apply([&](const auto&... tensors) { return torch_aclnn::record(compute, all, tensors...); },
                          BatchNormElemtArguments::fields(all));
    }
    void run_npu(const at::Tensor& grad_input) const;
    void run_cpu(const at::Tensor& grad_input) const;
};

void BatchNormElemtBackward::check() const {
    const auto floating = {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble};
    const std::initializer_list<NamedTensor> per_channel = {
        {"mean", mean}, {"invstd", invstd}, {"weight", weight_or_undefined()}, {"sum_dy", sum_dy}, {"sum_dy_xmu", sum_dy_xmu}};
    check_same_device(kOp, {{"input", input}, {"grad_out", grad_out}, {"count", count}});
    check_rank(kOp, "input", input.dim(), 2, 8);
    check_size(kOp, "grad_out", grad_out.sym_sizes(), input.sym_sizes());
    const c10::SymInt channels = input.sym_size(1);
    TORCH_SYM_CHECK(channels.sym_ge(1), kOp, ": input: expected at least one channel in dimension 1, got ", input.sym_sizes());
    for (const NamedTensor& t : per_channel) {
        check_per_channel(kOp, input, t);
        if (t.tensor.defined()) check_dtype(kOp, t, floating);
    }
    for (const NamedTensor& t : {NamedTensor{"input", input}, NamedTensor{"grad_out", grad_out}}) check_dtype(kOp, t, floating);
    check_dtype(kOp, {"count", count}, {at::kInt, at::kHalf, at::kFloat, at::kDouble});
    check_rank(kOp, "count", count.dim(), 0, 8);
    TORCH_SYM_CHECK(count.sym_numel().sym_ge(1), kOp, ": count: expected at least one element, got ", count.sym_sizes());
}

void BatchNormElemtBackward::run_npu(const at::Tensor& grad_input) const {
    call_batch_norm_elemt_backward(arguments(), grad_input);
}

kernels::View<8> channel_view(const at::Tensor& tensor) {
    return kernels::channels_second(view<8>(BatchNormElemtBackward::kOp, tensor), tensor.dim());
}

void BatchNormElemtBackward::run_cpu(const at::Tensor& grad_input) const {
    const at::Tensor& given = weight_or_undefined();
    const kernels::BatchNormChannels channels{view<1>(kOp, mean), view<1>(kOp, invstd),
                                              given.defined() ? view<1>(kOp, given) : kernels::kNoWeight, view<1>(kOp, sum_dy),
                                              view<1>(kOp, sum_dy_xmu)};
    kernels::batch_norm_elemt_backward(channel_view(grad_out), channel_view(input), channels, kernels::sum_elements(view<8>(kOp, count)),
                                       channel_view(grad_input), at::get_num_threads());
}

TORCH_ACLNN_REGISTER(batch_norm_elemt_backward, BatchNormElemtBackward)

}  // namespace
}  // namespace torch_aclnn
