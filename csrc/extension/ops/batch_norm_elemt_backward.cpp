#include "kernels/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>

#include "extension/aclnn/launch.h"
#include "extension/ops/common.h"
#include "include/aclnnop/aclnn_batch_norm_elemt_backward.h"

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

    void check() const;
};

void Arguments::check() const {
    const auto floating = {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble};
    const std::initializer_list<NamedTensor> per_channel = {
        {"mean", mean}, {"invstd", invstd}, {"weight", weight}, {"sum_dy", sum_dy}, {"sum_dy_xmu", sum_dy_xmu}};
    check_same_device(kOp, {{"input", input}, {"grad_out", grad_out}, {"count", count}});
    check_rank(kOp, "input", input.dim(), 2, 8);
    check_size(kOp, "grad_out", grad_out.sym_sizes(), input.sym_sizes());
    const c10::SymInt channels = input.sym_size(1);
    TORCH_SYM_CHECK(channels.sym_ge(1), kOp, ": input: expected at least one channel in dimension 1, got ", input.sym_sizes());
    for (const NamedTensor& t : per_channel) {
        if (!t.tensor.defined()) continue;
        check_same_device(kOp, {{"input", input}, t});
        check_size(kOp, t.name, t.tensor.sym_sizes(), {channels});
        check_dtype(kOp, t, floating);
    }
    for (const NamedTensor& t : {NamedTensor{"input", input}, NamedTensor{"grad_out", grad_out}}) check_dtype(kOp, t, floating);
    check_dtype(kOp, {"count", count}, {at::kInt, at::kHalf, at::kFloat, at::kDouble});
    check_rank(kOp, "count", count.dim(), 0, 8);
    TORCH_SYM_CHECK(count.sym_numel().sym_ge(1), kOp, ": count: expected at least one element, got ", count.sym_sizes());
}

void run_npu(const Arguments& a, const at::Tensor& grad_input) {
    static const EntryPoint<decltype(aclnnBatchNormElemtBackwardGetWorkspaceSize)> entry_point("aclnnBatchNormElemtBackward");
    const at::Tensor weight = a.weight.defined() ? a.weight : at::ones_like(a.invstd);  // the document requires one
    call(entry_point, make_handle(a.grad_out), make_handle(a.input), make_handle(a.mean), make_handle(a.invstd), make_handle(weight),
         make_handle(a.sum_dy), make_handle(a.sum_dy_xmu), make_handle(a.count), make_handle(grad_input));
}

kernels::View<8> channel_view(const at::Tensor& tensor) {
    return kernels::channels_second(view<8>(kOp, tensor), tensor.dim());
}

void run_cpu(const Arguments& a, const at::Tensor& grad_input) {
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
    const DeviceScope scope(input.device());
    const Arguments a{grad_out, input, mean, invstd, weight.value_or(at::Tensor()), sum_dy, sum_dy_xmu, count};
    a.check();
    const at::Tensor grad_input = input.is_privateuseone() ? empty_contiguous(input, input.sym_sizes()) : at::empty_like(input);
    run_unless_empty<run>(a, grad_input);
    return grad_input;
}

template <void (*run)(const Arguments&, const at::Tensor&)>
void into(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
          const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& count,
          const at::Tensor& out) {
    const DeviceScope scope(input.device());
    const Arguments a{grad_out, input, mean, invstd, weight.value_or(at::Tensor()), sum_dy, sum_dy_xmu, count};
    a.check();
    prepare_out(kOp, out, input, input.sym_sizes(),
                {{"grad_out", grad_out},
                 {"input", input},
                 {"mean", mean},
                 {"invstd", invstd},
                 {"weight", a.weight},
                 {"sum_dy", sum_dy},
                 {"sum_dy_xmu", sum_dy_xmu},
                 {"count", count}});
    run_unless_empty<run>(a, out);
}

TORCH_ACLNN_REGISTER(batch_norm_elemt_backward)

}  // namespace
}  // namespace torch_aclnn
