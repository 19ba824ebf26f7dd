#include "kernels/batch_norm_elemt_backward.h"

#include <ATen/ops/empty_like.h>

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"

namespace torch_aclnn {
namespace {

constexpr const char* kOp = "batch_norm_elemt_backward";

struct Arguments {
    const at::Tensor& grad_out;
    const at::Tensor& input;
    const at::Tensor& mean;
    const at::Tensor& invstd;
    const at::Tensor weight;  // undefined: ones
    const at::Tensor& sum_dy;
    const at::Tensor& sum_dy_xmu;
    const at::Tensor& count;

    void check_devices() const {
        check_same_device(kOp, {{"input", input},
                                {"grad_out", grad_out},
                                {"mean", mean},
                                {"invstd", invstd},
                                {"weight", weight},
                                {"sum_dy", sum_dy},
                                {"sum_dy_xmu", sum_dy_xmu},
                                {"count", count}});
    }
};

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                            const aclTensor*, aclTensor*, aclTensor*>
        entry_point("aclnnBatchNormElemtBackward");
    call(entry_point, make_handle(a.grad_out), make_handle(a.input), make_handle(a.mean), make_handle(a.invstd), make_handle(a.weight),
         make_handle(a.sum_dy), make_handle(a.sum_dy_xmu), Output{make_handle(a.count)}, Output{make_handle(grad_input)});
}

void run_meta(const Arguments& a, const at::Tensor&) {
    const auto floating = {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble};
    check_rank(kOp, "input", a.input.dim(), 2, 8);
    check_size(kOp, "grad_out", a.grad_out.sym_sizes(), a.input.sym_sizes());
    const c10::SymInt channels = a.input.sym_size(1);
    TORCH_SYM_CHECK(channels.sym_ge(1), kOp, ": input: expected at least one channel in dimension 1, got ", a.input.sym_sizes());
    const std::initializer_list<NamedTensor> per_channel = {
        {"mean", a.mean}, {"invstd", a.invstd}, {"weight", a.weight}, {"sum_dy", a.sum_dy}, {"sum_dy_xmu", a.sum_dy_xmu}};
    for (const NamedTensor& t : per_channel) {
        if (!t.tensor.defined()) continue;
        check_size(kOp, t.name, t.tensor.sym_sizes(), {channels});
        check_dtype(kOp, t, floating);
    }
    for (const NamedTensor& t : {NamedTensor{"input", a.input}, NamedTensor{"grad_out", a.grad_out}}) check_dtype(kOp, t, floating);
    check_dtype(kOp, {"count", a.count}, {at::kInt, at::kHalf, at::kFloat, at::kDouble});
    check_rank(kOp, "count", a.count.dim(), 0, 8);
    TORCH_SYM_CHECK(a.count.sym_numel().sym_ge(1), kOp, ": count: expected at least one element, got ", a.count.sym_sizes());
}

kernels::View<8> channel_view(const at::Tensor& tensor) {
    return kernels::channels_second(view<8>(kOp, tensor), tensor.dim());
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
    run_meta(a, grad_input);
    const kernels::BatchNormChannels channels{view<1>(kOp, a.mean), view<1>(kOp, a.invstd),
                                              a.weight.defined() ? view<1>(kOp, a.weight) : kernels::kNoWeight, view<1>(kOp, a.sum_dy),
                                              view<1>(kOp, a.sum_dy_xmu)};
    kernels::batch_norm_elemt_backward(channel_view(a.grad_out), channel_view(a.input), channels,
                                       kernels::sum_elements(view<8>(kOp, a.count)), channel_view(grad_input), at::get_num_threads());
}

template <void (*run)(const Arguments&, const at::Tensor&)>
at::Tensor functional(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
                      const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
                      const at::Tensor& count) {
    const c10::OptionalDeviceGuard guard(input.device());
    const Arguments arguments{grad_out, input, mean, invstd, weight.value_or(at::Tensor()), sum_dy, sum_dy_xmu, count};
    arguments.check_devices();
    const at::Tensor grad_input = at::empty_like(input);
    run(arguments, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
          const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& count,
          const at::Tensor& out) {
    const c10::OptionalDeviceGuard guard(input.device());
    const Arguments arguments{grad_out, input, mean, invstd, weight.value_or(at::Tensor()), sum_dy, sum_dy_xmu, count};
    arguments.check_devices();
    prepare_out(kOp, out, input, input.sym_sizes(), {{"grad_out", grad_out}, {"input", input}});
    run(arguments, out);
}

TORCH_ACLNN_REGISTER(batch_norm_elemt_backward)

}  // namespace
}  // namespace torch_aclnn
