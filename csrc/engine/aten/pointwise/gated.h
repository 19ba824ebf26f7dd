// Gated units: one half of a dimension is activated and multiplied with the other.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

// The halves of a gated unit: what is multiplied, and what is activated before.
struct Gated {
    Gated(const at::Tensor& x, int64_t dim, bool activate_left)
        : halves(upcast(x).chunk(2, dim)), plain(halves[activate_left ? 1 : 0]), activated(halves[activate_left ? 0 : 1]) {}

    std::vector<at::Tensor> halves;
    at::Tensor plain, activated;
};

// Returns silu of one half of the features, times the other.
inline at::Tensor swiglu(const at::Tensor& x, bool activate_left) {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return at::silu(halves[activate_left ? 0 : 1]) * halves[activate_left ? 1 : 0];
}
// Returns SwiGLU of pairs of neighbouring features, with limits.
inline at::Tensor swiglu_by_pairs(const at::Tensor& x, double limit, double alpha, double bias) {
    const at::Tensor pairs = x.unflatten(-1, at::IntArrayRef{-1, 2});
    const at::Tensor gate = pairs.select(-1, 0).clamp_max(limit), linear = pairs.select(-1, 1).clamp(-limit, limit);
    return gate * at::sigmoid(alpha * gate) * (linear + bias);
}

// x / (1 + exp(-scale x)), and its derivative.
inline at::Tensor swish(const at::Tensor& x, double scale) {
    return x * at::sigmoid(scale * x);
}
inline at::Tensor swish_slope(const at::Tensor& x, double scale) {
    const at::Tensor gate = at::sigmoid(scale * x);
    return gate + scale * x * gate * (1 - gate);
}

}  // namespace torch_aclnn::host::aten
