// Norms, batch norm, and rotary embeddings.

#include "engine/aten/by_name/call.h"
#include "engine/aten/numerics/undocumented.h"

// Norms and distances of any order.

// Infinite orders come as the largest and the smallest int.
static double norm_order(const Call& call) {
    const float p = call.attribute<float>("p");
    if (p >= static_cast<float>(std::numeric_limits<int>::max())) return std::numeric_limits<double>::infinity();
    if (p <= static_cast<float>(std::numeric_limits<int>::min())) return -std::numeric_limits<double>::infinity();
    return p;
}

// The largest difference comes as -1.
static double distance_order(const Call& call) {
    const float p = call.attribute<float>("p");
    if (p == -1) return std::numeric_limits<double>::infinity();
    if (!(p >= 0)) refuse("attribute p", "an order of at least 0, or -1 for the largest difference", c10::str(p));
    return p;
}

static bool has_root(double p) {
    return p != 0 && !std::isinf(p);
}

// The first of two halves of a norm is the reduction, whose root the second takes.
OPERATOR(LpNormReduceV2) {
    const double p = norm_order(call);
    const at::Tensor x = call.computing(0).to(at::kDouble).abs();
    const std::vector<int64_t>& axes = call.attribute<std::vector<int64_t>>("axes");
    const bool keep = call.attribute<bool>("keepdim", false);
    const at::OptionalIntArrayRef dims = all_if_empty(axes);
    if (has_root(p)) return call.write(0, at::sum(x.pow(p), dims, keep));
    call.write(0, at::linalg_vector_norm(x, p, dims, keep));
}
OPERATOR(LpNormUpdateV2) {
    const double p = norm_order(call);
    const at::Tensor reduced = call.computing(0).to(at::kDouble);
    call.write(0, has_root(p) ? reduced.pow(1 / p) : reduced);
}

// Both operands come with the shape of all pairs, of which the last dimension is reduced.
OPERATOR(Cdist) {
    const at::Tensor difference = call.computing(0).to(at::kDouble) - call.computing(1).to(at::kDouble);
    call.write(0, at::linalg_vector_norm(difference, distance_order(call), at::IntArrayRef{-1}));
}

// Computes the gradient of the first operand. All four inputs come with the shape of all pairs, with the rows of the second operand in the
// last dimension but one.
OPERATOR(CdistGrad) {
    const double p = distance_order(call);
    const auto in_double = [&](size_t i) { return call.computing(i).to(at::kDouble); };
    const at::Tensor grad = in_double(0), difference = in_double(1) - in_double(2), distance = in_double(3);
    const at::Tensor size = difference.abs();
    at::Tensor of_pair;
    if (p == 0)
        of_pair = at::zeros_like(grad);
    else if (std::isinf(p))  // the distance has been rounded, so the largest difference is compared as rounded
        of_pair = grad * difference.sign() * (size.to(call.input(3).scalar_type()) == call.input(3));
    else
        of_pair = grad * difference.sign() * (size / distance).pow(p - 1);
    // Points that coincide have no direction, and neither has a coordinate in which two points agree.
    of_pair = at::where((distance == 0).logical_or(difference == 0), at::zeros_like(of_pair), of_pair);
    call.write(0, of_pair.sum(-2));
}

OPERATOR(Renorm) {
    const at::Tensor x = call.computing(0);
    const int64_t dim = call.attribute<int64_t>("dim");
    require_dim("attribute dim", dim, x.dim());
    std::vector<int64_t> others;
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != (dim < 0 ? dim + x.dim() : dim)) others.push_back(d);
    const at::Tensor norms = at::linalg_vector_norm(x, call.attribute<float>("p"), others, true);
    const float largest = call.attribute<float>("maxnorm");
    call.write(0, at::where(norms > largest, largest / (norms + 1e-7), at::ones_like(norms)));
}

// Batch norm in the steps in which torch_npu calls it on private formats. The statistics are sums, and the variance is given where ATen has
// 1/sqrt(variance + eps). Channels are in dimension 1; what belongs to a channel is computed in double.

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
    // Returns a vector of channels in the shape that is broadcast over the batch.
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

// The inputs are x, its two sums, scale, offset, and the running statistics, which are outputs too.
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

// The inputs are the gradient, x, mean and variance, and the outputs the gradients of scale and offset.
void batch_to_parameters(Call& call) {
    const Batch grad(call.computing(0)), batch(call.computing(1));
    const auto [mean, variance] = saved(call, 2);
    call.write(0, grad.sums(grad.x() * normalised_batch(call, batch, *mean, *variance)));
    call.write(1, grad.sums(grad.x()));
}

// The inputs are the gradient, x, the gradients of scale and offset, scale, mean and variance.
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

// Normalises by running statistics. The inputs are x, scale, offset, mean and variance.
OPERATOR(BNInfer) {
    const Batch batch(call.computing(0));
    call.write(0, normalised_batch(call, batch, call.input(3), call.input(4)) * batch.spread(call.input(1)) + batch.spread(call.input(2)));
}
// The inputs are the gradient, scale and variance.
OPERATOR(BNInferGrad) {
    const Batch grad(call.computing(0));
    call.write(0, grad.x() * grad.spread(call.input(1)) * grad.spread(inverse_deviation(call, call.input(2))));
}

// Rotary embeddings of positions: each element of the last dimension is turned together with the one half of the dimension further on.

// Returns (-x2, x1) of the halves x1 and x2.
static at::Tensor turned_by_halves(const at::Tensor& x) {
    if (x.dim() == 0 || x.size(-1) % 2 != 0) refuse("input 0", "an even last dimension", shape_text(x.sizes()));
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return at::cat({-halves[1], halves[0]}, -1);
}

// The inputs are the rotated tensor, cosines and sines.
OPERATOR(RotaryMul) {
    const at::Tensor x = call.computing(0);
    call.write(0, x * call.computing(1) + turned_by_halves(x) * call.computing(2));
}
// The inputs are the rotated tensor, cosines, sines and the result's gradient. The gradients of cosines and sines are optional.
OPERATOR(RotaryMulGrad) {
    const at::Tensor x = call.computing(0), cos = call.computing(1), sin = call.computing(2), grad = call.computing(3);
    call.write(0, grad * cos - turned_by_halves(grad * sin));
    if (!call.attribute<bool>("need_backward", true)) return;
    call.write(1, (grad * x).sum_to_size(cos.sizes()));
    call.write(2, (grad * turned_by_halves(x)).sum_to_size(sin.sizes()));
}

// The inverse root of the variance is the third output.
OPERATOR(LayerNormV3) {
    const at::Tensor x = call.computing(0), weight = call.computing(1);
    const auto [normal, mean, rstd] =
        at::native_layer_norm(x, weight.sizes(), weight, call.computing(2), call.attribute<float>("epsilon", 1e-5F));
    call.write(0, normal);
    call.write(1, mean);
    call.write(2, rstd);
}
