// Building blocks of transformers, which torch_npu offers under names of its own (npu_rms_norm, npu_swiglu, npu_rotary_mul and others).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace {

// The dimensions that gamma has, which are the last of x.
std::vector<int64_t> normalised_dims(const at::Tensor& gamma) {
    std::vector<int64_t> dims;
    for (int64_t d = -gamma.dim(); d < 0; d++) dims.push_back(d);
    return dims;
}

void rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon, at::Tensor& y, at::Tensor& rstd) {
    const at::Tensor inverse = at::rsqrt(at::mean(x * x, normalised_dims(gamma), true) + epsilon);
    write(y, x * inverse * wide(gamma));
    write(rstd, inverse);
}

// Turns each pair of features by a quarter: (a, b) becomes (-b, a). Mode 0 pairs the first half with the second, 1 neighbours.
at::Tensor quarter_turned(const at::Tensor& x, int64_t mode) {
    if (mode == 0) {
        const std::vector<at::Tensor> halves = x.chunk(2, -1);
        return at::cat({-halves[1], halves[0]}, -1);
    }
    const at::Tensor pairs = x.unflatten(-1, at::IntArrayRef{-1, 2});
    return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
}

// The halves of a gated unit: what is multiplied, and what is activated before.
struct Gated {
    Gated(const at::Tensor& x, int64_t dim, bool activate_left)
        : halves(wide(x).chunk(2, dim)), plain(halves[activate_left ? 1 : 0]), activated(halves[activate_left ? 0 : 1]) {}

    std::vector<at::Tensor> halves;
    at::Tensor plain, activated;
};

}  // namespace

namespace torch_aclnn::host::aten::kind {
using RotaryMode = Between<int64_t, 0, 1>;  // halves, interleaved
}

ATEN_ENTRY(aclnnRmsNorm, FLOATING, (In, x), (In, gamma), (Double, epsilon), (Out, y), (Out, rstd)) {
    rms_norm(wide(x), gamma, epsilon, y, rstd);
}
ATEN_ENTRY(aclnnRmsNormGrad, FLOATING, (In, dy), (In, x), (In, rstd), (In, gamma), (Out, dx), (Out, dgamma)) {
    const at::Tensor normal = wide(x) * wide(rstd), of_normal = wide(dy) * wide(gamma);
    write(dx, wide(rstd) * (of_normal - normal * at::mean(of_normal * normal, normalised_dims(gamma), true)));
    write(dgamma, (wide(dy) * normal).sum_to_size(gamma.sizes()));
}
// The sum is an output too, for the residual connection.
ATEN_ENTRY(aclnnAddRmsNorm, FLOATING, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y), (Out, rstd), (Out, x)) {
    const at::Tensor sum = wide(x1) + wide(x2);
    rms_norm(sum, gamma, epsilon, y, rstd);
    write(x, sum);
}

// silu of the first half along the dimension, times the second.
ATEN_CHECKED_ENTRY(aclnnSwiGlu, FLOATING, require_even({"x", x}, dim), (In, x), (Dim, dim), (Out, out)) {
    const Gated gated(x, dim, true);
    write(out, at::silu(gated.activated) * gated.plain);
}
ATEN_CHECKED_ENTRY(aclnnSwiGluGrad, FLOATING, require_even({"x", x}, dim), (In, yGrad), (In, x), (Dim, dim), (Out, out)) {
    const Gated gated(x, dim, true);
    const at::Tensor grad = wide(yGrad);
    write(out, at::cat({at::silu_backward(grad * gated.plain, gated.activated), grad * at::silu(gated.activated)}, dim));
}

// gelu of one half along the dimension, times the other; outGelu is the first factor.
ATEN_CHECKED_ENTRY(aclnnGeGluV3, FLOATING, require_even({"self", self}, dim), (In, self), (Dim, dim), (GeluMode, approximate),
                   (Bool, activateLeft), (Out, out), (Out, outGelu)) {
    const Gated gated(self, dim, activateLeft);
    const at::Tensor gelu = at::gelu(gated.activated, approximate);
    write(out, gated.plain * gelu);
    write(outGelu, gelu);
}
ATEN_CHECKED_ENTRY(aclnnGeGluV3Backward, FLOATING, require_even({"self", self}, dim), (In, gradOutput), (In, self), (In, gelu), (Dim, dim),
                   (GeluMode, approximate), (Bool, activateLeft), (Out, gradInput)) {
    const Gated gated(self, dim, activateLeft);
    const at::Tensor of_plain = wide(gradOutput) * wide(gelu);
    const at::Tensor of_activated = at::gelu_backward(wide(gradOutput) * gated.plain, gated.activated, approximate);
    write(gradInput, activateLeft ? at::cat({of_activated, of_plain}, dim) : at::cat({of_plain, of_activated}, dim));
}

ATEN_ENTRY(aclnnGroupNormSilu, FLOATING, (In, self), (OptIn, gamma), (OptIn, beta), (Positive, group), (Double, eps), (Out, out),
           (Out, meanOut), (Out, rstdOut)) {
    const at::Tensor x = wide(self).contiguous();
    const int64_t batch = x.size(0), channels = x.size(1), positions = x.numel() / std::max<int64_t>(batch * channels, 1);
    const auto [normal, mean, rstd] = at::native_group_norm(x, wide(gamma), wide(beta), batch, channels, positions, group, eps);
    write(out, at::silu(normal));
    write(meanOut, mean);
    write(rstdOut, rstd);
}

ATEN_CHECKED_ENTRY(aclnnRotaryPositionEmbedding, FLOATING, require_even({"x", x}, -1), (In, x), (In, cos), (In, sin), (RotaryMode, mode),
                   (Out, y)) {
    write(y, wide(x) * wide(cos) + quarter_turned(wide(x), mode) * wide(sin));
}
ATEN_CHECKED_ENTRY(aclnnRotaryPositionEmbeddingGrad, FLOATING, require_even({"dy", dy}, -1), (In, dy), (In, cos), (In, sin), (OptIn, x),
                   (RotaryMode, mode), (Out, dx), (OptOut, dcos), (OptOut, dsin)) {
    const at::Tensor grad = wide(dy);
    write(dx, grad * wide(cos) - quarter_turned(grad * wide(sin), mode));
    if (!x) return;
    write(dcos, (grad * wide(*x)).sum_to_size(cos.sizes()));
    write(dsin, (grad * quarter_turned(wide(*x), mode)).sum_to_size(sin.sizes()));
}
