// The backward of batch norm in training: sums over the batch in one pass over memory, and the operator batch_norm_elemt_backward.
#include <ATen/TensorOperators.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/zeros_like.h>

#include "extension/aclnn/fill.h"
#include "extension/autograd/batch_norm.h"
#include "extension/ops/batch_norm_elemt_backward.h"
#include "extension/ops/common.h"
#include "extension/ops/registration.h"
#include "include/aclnnop/aclnn_batch_norm_reduce_backward.h"

namespace torch_aclnn {

constexpr const char* kOp = "_batch_norm_backward";

static void check(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& mean,
                  const at::Tensor& invstd) {
    check_same_device(kOp, {{"input", input}, {"grad_output", grad_output}});
    check_rank(kOp, "input", input.dim(), 2, 8);
    check_size(kOp, "grad_output", grad_output.sym_sizes(), input.sym_sizes());
    for (const NamedTensor& t : {NamedTensor{"weight", weight}, NamedTensor{"mean", mean}, NamedTensor{"invstd", invstd}})
        check_per_channel(kOp, input, t);
}

// Returns the gradients of an empty batch, which are zero; torch's kernel would divide by the number of elements.
static BatchNormGradients of_empty_batch(const at::Tensor& input, const at::Tensor& mean, std::array<bool, 3> wanted) {
    const auto zeros_like = [](bool is_wanted, const at::Tensor& like) { return is_wanted ? at::zeros_like(like) : at::Tensor(); };
    return {zeros_like(wanted[0], input), zeros_like(wanted[1], mean), zeros_like(wanted[2], mean)};
}

// Computes the gradients on every device but npu. The sums come from torch's own backward.
static BatchNormGradients backward_off_npu(const at::Tensor& grad_output, const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                           const at::Tensor& mean, const at::Tensor& invstd, double eps, std::array<bool, 3> wanted) {
    check(grad_output, input, weight.value_or(at::Tensor()), mean, invstd);
    if (input.sym_numel() == 0) return of_empty_batch(input, mean, wanted);
    const auto [unused, grad_weight, grad_bias] =
        at::native_batch_norm_backward(grad_output, input, weight, {}, {}, mean, invstd, /*train=*/true, eps, {false, true, true});
    const at::Tensor &sum_dy = grad_bias, sum_dy_xmu = grad_weight / invstd;
    return {wanted[0] ? elementwise_of_batch(grad_output, input, mean, invstd, weight, sum_dy, sum_dy_xmu) : at::Tensor(),
            wanted[1] ? grad_weight : at::Tensor(), wanted[2] ? grad_bias : at::Tensor()};
}

static BatchNormGradients backward_on_npu(const at::Tensor& grad_output, const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                          const at::Tensor& mean, const at::Tensor& invstd, double eps, std::array<bool, 3> wanted) {
    static const EntryPoint<decltype(aclnnBatchNormReduceBackwardGetWorkspaceSize)> reduce("aclnnBatchNormReduceBackward");
    const at::Tensor scale = weight.value_or(at::Tensor());
    check(grad_output, input, scale, mean, invstd);
    if (input.numel() == 0) return of_empty_batch(input, mean, wanted);

    const DeviceScope scope(input.device());
    const auto per_channel = [&](bool is_wanted) { return is_wanted ? empty_on_npu(mean, mean.sizes()) : at::Tensor(); };
    const at::Tensor sum_dy = per_channel(wanted[0]), sum_dy_xmu = per_channel(wanted[0]);
    const at::Tensor grad_weight = per_channel(wanted[1]), grad_bias = per_channel(wanted[2]);
    call(reduce, grad_output, input, mean, invstd, scale, wanted[0], wanted[1], wanted[2], sum_dy, sum_dy_xmu, grad_weight, grad_bias);
    if (!wanted[0]) return {at::Tensor(), grad_weight, grad_bias};
    const at::Tensor grad_input = empty_on_npu(input, input.sizes()), count = empty_on_npu(mean, {1});
    fill(count, static_cast<double>(elements_of_channel(input).expect_int()));
    call_batch_norm_elemt_backward({grad_output, input, mean, invstd, scale, sum_dy, sum_dy_xmu, count}, grad_input);
    return {grad_input, grad_weight, grad_bias};
}

TORCH_LIBRARY_FRAGMENT(torch_aclnn, m) {
    m.def(
        "_batch_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor invstd, float eps, "
        "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(torch_aclnn, CompositeExplicitAutograd, m) {
    m.impl("_batch_norm_backward", backward_off_npu);
}
TORCH_LIBRARY_IMPL(torch_aclnn, PrivateUse1, m) {
    m.impl("_batch_norm_backward", backward_on_npu);
}

}  // namespace torch_aclnn
