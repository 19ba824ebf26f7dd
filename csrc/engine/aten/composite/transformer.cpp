// Building blocks of transformers, which torch_npu offers under names of its own (npu_rms_norm, npu_swiglu, npu_rotary_mul and others).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/rms_norm.h"

#define ATEN_FAMILY "transformer"
using namespace torch_aclnn::host::aten;

namespace {

void rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon, at::Tensor& y, at::Tensor& rstd) {
    const auto [normal, inverse] = rms_normal(x, gamma, epsilon);
    write(y, normal * upcast(gamma));
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

// x / (1 + exp(-scale x)), and its derivative.
at::Tensor swish(const at::Tensor& x, double scale) {
    return x * at::sigmoid(scale * x);
}
at::Tensor swish_slope(const at::Tensor& x, double scale) {
    const at::Tensor gate = at::sigmoid(scale * x);
    return gate + scale * x * gate * (1 - gate);
}

// The batch, the channels and the positions of each, as ATen's group normalisation asks for them.
struct GroupedChannels {
    explicit GroupedChannels(const at::Tensor& x)
        : batch(x.size(0)), channels(x.size(1)), positions(x.numel() / std::max<int64_t>(batch * channels, 1)) {}
    int64_t batch, channels, positions;
};

std::string_view read_channels_first(const char* name, const char* text) {
    return read_choice(name, text, {"NCHW"});
}

// The modes of rotary embeddings by their names.
std::string_view read_rotary_name(const char* name, const char* text) {
    return read_choice(name, text, {"half", "interleave"});
}
void rotate(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, std::string_view mode) {
    write(x, upcast(x) * upcast(cos) + quarter_turned(upcast(x), mode == "half" ? 0 : 1) * upcast(sin));
}

void require_channels_in_groups(const at::Tensor& self, int64_t groups) {
    if (self.dim() < 2 || self.size(1) % groups != 0)
        torch_aclnn::host::refuse("group", "a divisor of self's dimension 1", c10::str(groups, " for shape ", self.sizes()));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using RotaryMode = Between<int64_t, 0, 1>;  // halves, interleaved
using RotaryName = Kind<const char*, std::string_view, std::string_view, read_rotary_name>;
using RotaryLayout = Between<int64_t, 1, 4>;  // BSND, SBND, BNSD, TND: cos and sin have 1 where the heads are
using ChannelsFirst = Kind<const char*, std::string_view, std::string_view, read_channels_first>;
}  // namespace torch_aclnn::host::aten::kind

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

// The normal takes the place of x1, and the sum that of x2.
ATEN_CHECKED_ENTRY(aclnnInplaceAddRmsNorm, FLOATING, require_same_shape({"x2Ref", x2Ref}, {"x1Ref", x1Ref}), (Out, x1Ref), (Out, x2Ref),
                   (In, gamma), (Double, epsilon), (Out, rstd)) {
    const at::Tensor sum = upcast(x1Ref) + upcast(x2Ref);
    rms_norm(sum, gamma, epsilon, x1Ref, rstd);
    write(x2Ref, sum);
}
// The normal twice: in FLOAT and in the data type of x1.
ATEN_ENTRY(aclnnAddRmsNormCast, FLOAT16 | BF16, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y1), (Out, y2), (Out, rstd),
           (Out, x)) {
    const at::Tensor sum = upcast(x1) + upcast(x2);
    rms_norm(sum, gamma, epsilon, y1, rstd);
    write(y2, y1);
    write(x, sum);
}
// As Gemma has it: gamma is what is added to 1.
ATEN_ENTRY(aclnnGemmaRmsNorm, FLOATING, (In, x), (In, gamma), (Double, epsilon), (Out, y), (Out, rstd)) {
    rms_norm(upcast(x), upcast(gamma) + 1, epsilon, y, rstd);
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
    const GroupedChannels c(x);
    const auto [normal, mean, rstd] = at::native_group_norm(x, upcast(gamma), upcast(beta), c.batch, c.channels, c.positions, group, eps);
    write(out, at::silu(normal));
    write(meanOut, mean);
    write(rstdOut, rstd);
}

ATEN_CHECKED_ENTRY(aclnnGroupNormSwish, FLOATING, require_channels_in_groups(x, numGroups), (In, x), (In, gamma), (In, beta),
                   (Positive, numGroups), (ChannelsFirst, dataFormat), (Double, eps), (Bool, activateSwish), (Double, swishScale), (Out, y),
                   (Out, meanOut), (Out, rstdOut)) {
    const at::Tensor wide = upcast(x).contiguous();
    const GroupedChannels c(wide);
    const auto [normal, mean, rstd] =
        at::native_group_norm(wide, upcast(gamma), upcast(beta), c.batch, c.channels, c.positions, numGroups, eps);
    write(y, activateSwish ? swish(normal, swishScale) : normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
}
ATEN_CHECKED_ENTRY(aclnnGroupNormSwishGrad, FLOATING, require_channels_in_groups(x, numGroups), (In, dy), (In, mean), (In, rstd), (In, x),
                   (In, gamma), (In, beta), (Positive, numGroups), (ChannelsFirst, dataFormat), (Double, swishScale),
                   (Bool, dgammaIsRequire), (Bool, dbetaIsRequire), (Out, dx), (OptOut, dgamma), (OptOut, dbeta)) {
    const at::Tensor wide = upcast(x).contiguous();
    const GroupedChannels c(wide);
    const auto by_group = [&](const at::Tensor& numbers) {
        return upcast(numbers)
            .reshape({c.batch, numGroups, 1})
            .expand({c.batch, numGroups, c.channels / numGroups})
            .reshape({c.batch, c.channels, 1});
    };
    const at::Tensor flat = wide.view({c.batch, c.channels, c.positions});
    const at::Tensor normal = (flat - by_group(mean)) * by_group(rstd) * upcast(gamma).view({-1, 1}) + upcast(beta).view({-1, 1});
    const at::Tensor of_normal = upcast(dy).reshape(normal.sizes()) * swish_slope(normal, swishScale);
    const auto [grad, of_gamma, of_beta] = at::native_group_norm_backward(
        of_normal.contiguous(), flat, upcast(mean).contiguous(), upcast(rstd).contiguous(), upcast(gamma).contiguous(), c.batch, c.channels,
        c.positions, numGroups, {true, dgammaIsRequire, dbetaIsRequire});
    write(dx, grad);
    write(dgamma, of_gamma);
    write(dbeta, of_beta);
}

// Of queries and keys in place.
ATEN_CHECKED_ENTRY(aclnnApplyRotaryPosEmb, FLOATING, (require_even({"queryRef", queryRef}, -1), require_even({"keyRef", keyRef}, -1)),
                   (Out, queryRef), (Out, keyRef), (In, cos), (In, sin), (RotaryLayout, layout)) {
    rotate(queryRef, cos, sin, "half");
    rotate(keyRef, cos, sin, "half");
}
ATEN_CHECKED_ENTRY(aclnnApplyRotaryPosEmbV2, FLOATING, (require_even({"queryRef", queryRef}, -1), require_even({"keyRef", keyRef}, -1)),
                   (Out, queryRef), (Out, keyRef), (In, cos), (In, sin), (RotaryLayout, layout), (RotaryName, rotaryMode)) {
    rotate(queryRef, cos, sin, rotaryMode);
    rotate(keyRef, cos, sin, rotaryMode);
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
