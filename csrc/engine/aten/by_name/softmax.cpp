// Softmax, its logarithm, and their gradients.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// One dimension, in a list.
int64_t dimension(const Call& call, const char* name) {
    const std::vector<int64_t>& axes = call.attribute<std::vector<int64_t>>(name, {-1});
    if (axes.size() != 1) refuse("attribute " + std::string(name), "one dimension", c10::str(at::IntArrayRef(axes)));
    require_dim(name, axes[0], call.input(0).dim());
    return axes[0];
}

at::Tensor scaled_and_masked(const Call& call, const at::Tensor& x) {
    if (call.attribute<bool>("fixed_triu_mask", false)) refuse("attribute fixed_triu_mask", "false", "true");
    return x * call.attribute<float>("scale", 1);
}

}  // namespace

RESULT_OPERATOR(SoftmaxV2, at::softmax(call.computing(0), dimension(call, "axes")))
OPERATOR(SoftmaxGrad) {
    const at::Tensor y = call.computing(0), grad = call.computing(1);
    call.write(0, y * (grad - (grad * y).sum(dimension(call, "axes"), true)));
}
RESULT_OPERATOR(LogSoftmaxV2, at::log_softmax(call.computing(0), dimension(call, "axes")))
OPERATOR(LogSoftmaxGrad) {
    const at::Tensor grad = call.computing(0), y = call.computing(1);
    call.write(0, grad - y.exp() * grad.sum(dimension(call, "axis"), true));
}

// True in the mask leaves an element out. Where all of a row are left out, all weigh the same.
OPERATOR(ScaledMaskedSoftmax) {
    const at::Tensor x = scaled_and_masked(call, call.computing(0));
    call.write(0, at::softmax(x.masked_fill(as_mask(call.input(1)), -10000.0), -1));
}
OPERATOR(ScaledMaskedSoftmaxGrad) {
    const at::Tensor grad = call.computing(0), y = call.computing(1);
    const at::Tensor of_masked = y * (grad - (grad * y).sum(-1, true));
    call.write(0, scaled_and_masked(call, of_masked.masked_fill(as_mask(call.input(2)), 0)));
}

// The loss of each row against a distribution, and its gradient.
OPERATOR(SoftmaxCrossEntropyWithLogits) {
    const at::Tensor x = call.computing(0), labels = call.computing(1);
    if (x.dim() != 2) refuse("input 0", "{rows, classes}", shape_text(x.sizes()));
    call.write(0, -(labels * at::log_softmax(x, 1)).sum(1));
    call.write(1, at::softmax(x, 1) - labels);
}
