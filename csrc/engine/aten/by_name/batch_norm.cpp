// Batch norm in the steps in which torch_npu calls it on private formats. The statistics are sums, and the variance is given where ATen has
// 1/sqrt(variance + eps). Channels are in dimension 1; what belongs to a channel is computed in double.
#include "engine/aten/by_name/call.h"
#include "engine/aten/numerics/undocumented.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

class Batch {
   public:
    explicit Batch(const at::Tensor& x) : x_(x.to(at::kDouble)) {
        if (x.dim() < 2 || x.numel() == 0) refuse("x", "elements in at least 2 dimensions", shape_text(x.sizes()));
        wide_.assign(x.dim(), 1);
        wide_[1] = x.size(1);
        for (int64_t d = 0; d < x.dim(); d++)
            if (d != 1) others_.push_back(d);
    }

    const at::Tensor& x() const { return x_; }
    double count() const { return static_cast<double>(x_.numel() / x_.size(1)); }  // the elements of a channel
    at::Tensor sums(const at::Tensor& of) const { return of.sum(others_); }
    // A vector of channels, in the shape that is broadcast over the batch.
    at::Tensor spread(const at::Tensor& channels) const {
        if (channels.numel() != x_.size(1)) refuse("statistics", c10::str(x_.size(1), " channels"), shape_text(channels.sizes()));
        return channels.to(at::kDouble).reshape(wide_);
    }

   private:
    at::Tensor x_;
    std::vector<int64_t> wide_, others_;
};

at::Tensor inverse_deviation(const Call& call, const at::Tensor& variance) {
    return (variance.to(at::kDouble) + call.attribute<float>("epsilon")).rsqrt();
}

at::Tensor normalised_batch(const Call& call, const Batch& batch, const at::Tensor& mean, const at::Tensor& variance) {
    return (batch.x() - batch.spread(mean)) * batch.spread(inverse_deviation(call, variance));
}

void sum_batch(Call& call) {
    const Batch batch(call.computing(0));
    call.write(0, batch.sums(batch.x()));
    call.write(1, batch.sums(batch.x().square()));
}

// Inputs: x, its two sums, scale, offset, and the running statistics, which are outputs too.
void follow_batch(Call& call) {
    const Batch batch(call.computing(0));
    const double n = batch.count(), factor = call.attribute<float>("factor");
    const auto channels = [&](size_t i) { return call.input(i).to(at::kDouble).reshape(-1); };
    const at::Tensor mean = channels(1) / n, variance = (channels(2) / n - mean.square()).clamp_min(0);
    const at::Tensor y = normalised_batch(call, batch, mean, variance) * batch.spread(channels(3)) + batch.spread(channels(4));
    const auto followed = [&](size_t running, const at::Tensor& now) { return channels(running) * (1 - factor) + now * factor; };
    const at::Tensor running_mean = followed(5, mean), running_variance = followed(6, variance * (n / std::max(n - 1, 1.0)));
    call.write(0, y);
    call.write(1, running_mean);
    call.write(2, running_variance);
    call.write(3, mean);
    call.write(4, variance);
}

// On products before A2 the first gradient of a process goes through here, though the forward was aclnnBatchNorm: torch_npu asks in each
// thread whether operators are compiled, and autograd's has no answer before its first operator.
SavedStatistics saved(const Call& call, size_t first) {
    return shown_if_unspecified(call.input(first), call.input(first + 1));
}

// Inputs: the gradient, x, mean and variance; outputs: the gradients of scale and offset.
void batch_to_parameters(Call& call) {
    const Batch grad(call.computing(0)), batch(call.computing(1));
    const auto [mean, variance] = saved(call, 2);
    call.write(0, grad.sums(grad.x() * normalised_batch(call, batch, *mean, *variance)));
    call.write(1, grad.sums(grad.x()));
}

// Inputs: the gradient, x, the gradients of scale and offset, scale, mean and variance.
void batch_to_input(Call& call) {
    const Batch grad(call.computing(0)), batch(call.computing(1));
    const auto [mean, variance] = saved(call, 5);
    const double n = batch.count();
    const at::Tensor centred =
        grad.x() - batch.spread(call.input(3)) / n - normalised_batch(call, batch, *mean, *variance) * batch.spread(call.input(2)) / n;
    call.write(0, centred * batch.spread(call.input(4)) * batch.spread(inverse_deviation(call, *variance)));
}

}  // namespace

RUN_OPERATOR(BNTrainingReduce, sum_batch(call))
RUN_OPERATOR(BN3DTrainingReduce, sum_batch(call))
RUN_OPERATOR(BNTrainingUpdate, follow_batch(call))
RUN_OPERATOR(BN3DTrainingUpdate, follow_batch(call))
RUN_OPERATOR(BNTrainingUpdateGrad, batch_to_parameters(call))
RUN_OPERATOR(BN3DTrainingUpdateGrad, batch_to_parameters(call))
RUN_OPERATOR(BNTrainingReduceGrad, batch_to_input(call))
RUN_OPERATOR(BN3DTrainingReduceGrad, batch_to_input(call))

// With running statistics: x, scale, offset, mean and variance.
OPERATOR(BNInfer) {
    const Batch batch(call.computing(0));
    call.write(0, normalised_batch(call, batch, call.input(3), call.input(4)) * batch.spread(call.input(1)) + batch.spread(call.input(2)));
}
// The gradient, scale and variance.
OPERATOR(BNInferGrad) {
    const Batch grad(call.computing(0));
    call.write(0, grad.x() * grad.spread(call.input(1)) * grad.spread(inverse_deviation(call, call.input(2))));
}
