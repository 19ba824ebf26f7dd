// Reductions and softmax. Half types are summed in float32.
#include "engine/aten/by_name/call.h"

static bool keeps_dims(const Call& call) {
    return call.attribute<bool>("keep_dims", false);
}

// The second input has the dimensions; none means all of them.
static std::vector<int64_t> dimensions(const Call& call) {
    std::vector<int64_t> dims = call.integers(1);
    if (dims.empty())
        for (int64_t d = 0; d < call.input(0).dim(); d++) dims.push_back(d);
    return dims;
}

// Reductions that ATen has for one dimension at a time.
static at::Tensor one_by_one(const Call& call, at::Tensor x, auto reduce) {
    for (const int64_t d : dimensions(call)) x = reduce(x, d);
    return x;  // the result keeps dimensions of one element, as write() needs no other shape
}

RESULT_OPERATOR(ReduceSum, at::sum(call.computing(0), dimensions(call), keeps_dims(call)))
RESULT_OPERATOR(ReduceMean, at::mean(call.computing(0), dimensions(call), keeps_dims(call)))
OPERATOR(ReduceMeanD) {
    const std::vector<int64_t>& axes = call.attribute<std::vector<int64_t>>("axes");
    call.write(0, at::mean(call.computing(0), all_if_empty(axes), keeps_dims(call)));
}
// The second input has the mean in each place of the first. Inverted it is what batch norm multiplies by.
OPERATOR(ReduceStdWithMean) {
    const at::Tensor x = call.computing(0).to(at::kDouble);
    const std::vector<int64_t>& axes = call.attribute<std::vector<int64_t>>("dim");
    const bool keep = call.attribute<bool>("keepdim", false);
    const at::Tensor sums = (x - call.computing(1)).square().sum(all_if_empty(axes), keep);
    const double count = static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(sums.numel(), 1));
    const int64_t correction = call.attribute<int64_t>("correction", call.attribute<bool>("unbiased", true) ? 1 : 0);
    const at::Tensor variance = sums / (count - static_cast<double>(correction));
    const bool invert = call.attribute<bool>("invert", false);
    call.write(0, invert ? (variance + call.attribute<float>("epsilon", 0)).rsqrt() : variance.sqrt());
}
RESULT_OPERATOR(ReduceMax, at::amax(call.input(0), dimensions(call), keeps_dims(call)))
RESULT_OPERATOR(ReduceMin, at::amin(call.input(0), dimensions(call), keeps_dims(call)))
RESULT_OPERATOR(ReduceAll, at::all(call.input(0), dimensions(call), keeps_dims(call)))
RESULT_OPERATOR(ReduceAny, at::any(call.input(0), dimensions(call), keeps_dims(call)))
RESULT_OPERATOR(ReduceProd, one_by_one(call, call.computing(0), [](const at::Tensor& x, int64_t d) { return at::prod(x, d, true); }))
RESULT_OPERATOR(ReduceLogSumExp, at::logsumexp(call.computing(0), dimensions(call), keeps_dims(call)))

RESULT_OPERATOR(ArgMaxV2, at::argmax(call.input(0), call.scalar(1).toLong(), keeps_dims(call)))
RESULT_OPERATOR(ArgMin, at::argmin(call.input(0), call.scalar(1).toLong(), keeps_dims(call)))
OPERATOR(ArgMaxWithValue) {
    const auto [value, place] = at::max(call.input(0), call.attribute<int64_t>("dimension"), keeps_dims(call));
    call.write(0, place);
    call.write(1, value);
}
OPERATOR(ArgMinWithValue) {
    const auto [value, place] = at::min(call.input(0), call.attribute<int64_t>("dimension"), keeps_dims(call));
    call.write(0, place);
    call.write(1, value);
}

RESULT_OPERATOR(Cumsum, at::cumsum(call.computing(0), call.scalar(1).toLong()))
RESULT_OPERATOR(Cumprod, at::cumprod(call.computing(0), call.scalar(1).toLong()))

// Softmax, its logarithm, and their gradients.

// The attribute is a list of one dimension.
static int64_t dimension(const Call& call, const char* name) {
    const std::vector<int64_t>& axes = call.attribute<std::vector<int64_t>>(name, {-1});
    if (axes.size() != 1) refuse("attribute " + std::string(name), "one dimension", c10::str(at::IntArrayRef(axes)));
    require_dim(name, axes[0], call.input(0).dim());
    return axes[0];
}

static at::Tensor scaled_and_masked(const Call& call, const at::Tensor& x) {
    if (call.attribute<bool>("fixed_triu_mask", false)) refuse("attribute fixed_triu_mask", "false", "true");
    return x * call.attribute<float>("scale", 1);
}

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
