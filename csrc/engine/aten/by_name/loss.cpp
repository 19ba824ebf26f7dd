// The loss of each row by the logarithms of its classes' probabilities, and its gradient.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

int64_t reduction_of(const Call& call) {
    const std::string& name = call.attribute<std::string>("reduction", "mean");
    if (name == "none") return at::Reduction::None;
    if (name == "mean") return at::Reduction::Mean;
    if (name == "sum") return at::Reduction::Sum;
    refuse("attribute reduction", "none, mean or sum", name);
}

// ATen's kernels know int64 classes only.
at::Tensor class_of_each_row(const Call& call, size_t input) {
    return call.input(input).to(at::kLong);
}

int64_t ignored_class(const Call& call) {
    return call.attribute<int64_t>("ignore_index", -100);
}

}  // namespace

// The logarithms, each row's class, the classes' weights.
OPERATOR(NLLLoss) {
    const auto [loss, total_weight] = at::nll_loss_forward(call.computing(0), class_of_each_row(call, 1), call.optional_computing(2),
                                                           reduction_of(call), ignored_class(call));
    call.write(0, loss);
    call.write(1, total_weight);
}
// The logarithms, the loss's gradient, each row's class, the classes' weights, the sum of the rows' weights.
RESULT_OPERATOR(NLLLossGrad, at::nll_loss_backward(call.computing(1), call.computing(0), class_of_each_row(call, 2),
                                                   call.optional_computing(3), reduction_of(call), ignored_class(call), call.computing(4)))
