// Building blocks of transformers, which torch_npu offers under names of its own (npu_rms_norm, npu_swiglu, npu_rotary_mul and others).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

ATEN_FAMILY("transformer")

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
    write(y, x * inverse * upcast(gamma));
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
        : halves(upcast(x).chunk(2, dim)), plain(halves[activate_left ? 1 : 0]), activated(halves[activate_left ? 0 : 1]) {}

    std::vector<at::Tensor> halves;
    at::Tensor plain, activated;
};

void require_channels_in_groups(const at::Tensor& self, int64_t groups) {
    if (self.dim() < 2 || self.size(1) % groups != 0)
        torch_aclnn::host::refuse("group", "a divisor of self's dimension 1", c10::str(groups, " for shape ", self.sizes()));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using RotaryMode = Between<int64_t, 0, 1>;  // halves, interleaved
}

ATEN_ENTRY(aclnnRmsNorm, FLOATING, (In, x), (In, gamma), (Double, epsilon), (Out, y), (Out, rstd)) {
    rms_norm(upcast(x), gamma, epsilon, y, rstd);
}
ATEN_ENTRY(aclnnRmsNormGrad, FLOATING, (In, dy), (In, x), (In, rstd), (In, gamma), (Out, dx), (Out, dgamma)) {
    const at::Tensor normal = upcast(x) * upcast(rstd), of_normal = upcast(dy) * upcast(gamma);
    write(dx, upcast(rstd) * (of_normal - normal * at::mean(of_normal * normal, normalised_dims(gamma), true)));
    write(dgamma, (upcast(dy) * normal).sum_to_size(gamma.sizes()));
}
// The sum is an output too, for the residual connection.
ATEN_ENTRY(aclnnAddRmsNorm, FLOATING, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y), (Out, rstd), (Out, x)) {
    const at::Tensor sum = upcast(x1) + upcast(x2);
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
    const at::Tensor grad = upcast(yGrad);
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
    const at::Tensor of_plain = upcast(gradOutput) * upcast(gelu);
    const at::Tensor of_activated = at::gelu_backward(upcast(gradOutput) * gated.plain, gated.activated, approximate);
    write(gradInput, activateLeft ? at::cat({of_activated, of_plain}, dim) : at::cat({of_plain, of_activated}, dim));
}

ATEN_CHECKED_ENTRY(aclnnGroupNormSilu, FLOATING, require_channels_in_groups(self, group), (In, self), (OptIn, gamma), (OptIn, beta),
                   (Positive, group), (Double, eps), (Out, out), (Out, meanOut), (Out, rstdOut)) {
    const at::Tensor x = upcast(self).contiguous();
    const int64_t batch = x.size(0), channels = x.size(1), positions = x.numel() / std::max<int64_t>(batch * channels, 1);
    const auto [normal, mean, rstd] = at::native_group_norm(x, upcast(gamma), upcast(beta), batch, channels, positions, group, eps);
    write(out, at::silu(normal));
    write(meanOut, mean);
    write(rstdOut, rstd);
}

ATEN_CHECKED_ENTRY(aclnnRotaryPositionEmbedding, FLOATING, require_even({"x", x}, -1), (In, x), (In, cos), (In, sin), (RotaryMode, mode),
                   (Out, y)) {
    write(y, upcast(x) * upcast(cos) + quarter_turned(upcast(x), mode) * upcast(sin));
}
ATEN_CHECKED_ENTRY(aclnnRotaryPositionEmbeddingGrad, FLOATING, require_even({"dy", dy}, -1), (In, dy), (In, cos), (In, sin), (OptIn, x),
                   (RotaryMode, mode), (Out, dx), (OptOut, dcos), (OptOut, dsin)) {
    const at::Tensor grad = upcast(dy);
    write(dx, grad * upcast(cos) - quarter_turned(grad * upcast(sin), mode));
    if (!x) return;
    write(dcos, (grad * upcast(*x)).sum_to_size(cos.sizes()));
    write(dsin, (grad * quarter_turned(upcast(*x), mode)).sum_to_size(sin.sizes()));
}
