// Norms and distances of any order.
#include <limits>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// Infinite orders come as the largest and the smallest int.
double norm_order(const Call& call) {
    const float p = call.attribute<float>("p");
    if (p >= static_cast<float>(std::numeric_limits<int>::max())) return std::numeric_limits<double>::infinity();
    if (p <= static_cast<float>(std::numeric_limits<int>::min())) return -std::numeric_limits<double>::infinity();
    return p;
}

// The largest difference comes as -1.
double distance_order(const Call& call) {
    const float p = call.attribute<float>("p");
    if (p == -1) return std::numeric_limits<double>::infinity();
    if (!(p >= 0)) refuse("attribute p", "an order of at least 0, or -1 for the largest difference", c10::str(p));
    return p;
}

bool has_root(double p) {
    return p != 0 && !std::isinf(p);
}

}  // namespace

// The first of two halves of a norm: the reduction, whose root the second takes.
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

// The gradient of the first operand; all four come with the shape of all pairs, the rows of the second one in the last dimension but one.
OPERATOR(CdistGrad) {
    const double p = distance_order(call);
    const auto in_double = [&](size_t i) { return call.computing(i).to(at::kDouble); };
    const at::Tensor grad = in_double(0), difference = in_double(1) - in_double(2), distance = in_double(3);
    const at::Tensor size = difference.abs();
    at::Tensor of_pair;
    if (p == 0)
        of_pair = at::zeros_like(grad);
    else if (std::isinf(p))  // the distance has been rounded
        of_pair = grad * difference.sign() * (size.to(call.input(3).scalar_type()) == call.input(3));
    else
        of_pair = grad * difference.sign() * (size / distance).pow(p - 1);
    // Points that coincide have no direction, and neither has a coordinate in which two points agree.
    of_pair = at::where((distance == 0).logical_or(difference == 0), at::zeros_like(of_pair), of_pair);
    call.write(0, of_pair.sum(-2));
}

// The factor by which each slice of the dimension is scaled.
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

// The inverse root of the variance is the third output.
OPERATOR(LayerNormV3) {
    const at::Tensor x = call.computing(0), weight = call.computing(1);
    const auto [normal, mean, rstd] =
        at::native_layer_norm(x, weight.sizes(), weight, call.computing(2), call.attribute<float>("epsilon", 1e-5F));
    call.write(0, normal);
    call.write(1, mean);
    call.write(2, rstd);
}
