// Building blocks of transformers, which torch_npu offers under names of its own (npu_rms_norm, npu_swiglu, npu_rotary_mul and others).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/gated.h"
#include "engine/aten/composite/rms_norm.h"

#define ATEN_FAMILY "transformer"
using namespace torch_aclnn::host::aten;

namespace {

void rms_norm(const at::Tensor& x, const at::Tensor& gamma, double epsilon, at::Tensor& y, at::Tensor& rstd) {
    const auto [normal, inverse] = rms_normal(x, gamma, epsilon);
    write(y, normal * upcast(gamma));
    write(rstd, inverse);
}

// One number for each row that is normalised; dimensions of one element may be left out.
Elements inverses(const NamedShape& x, const at::Tensor& gamma) {
    require_last_dims("gamma", gamma.sizes(), x);
    return elements(c10::multiply_integers(x.sizes.slice(0, x.sizes.size() - static_cast<size_t>(gamma.dim()))));
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

// Half of a dimension.
Expected halved(const char* name, const at::Tensor& x, int64_t dim) {
    require_even({name, x}, dim);
    return {with_size(x.sizes(), dim, x.size(dim) / 2).sizes, x.scalar_type()};
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
// The angles broadcast to what they turn.
Expected rotated(const NamedShape& x, const NamedShape& cos, const NamedShape& sin) {
    require_even(x, -1);
    for (const NamedShape& angles : {cos, sin})
        if (at::IntArrayRef(broadcast({x, angles}).sizes) != x.sizes)
            torch_aclnn::host::refuse(angles.name, c10::str("a shape that broadcasts to that of ", x.name, ", ", x.sizes),
                                      shape_text(angles.sizes));
    return x.sizes;
}
// Batch, heads, positions and 64 features.
void require_features(const NamedShape& x) {
    constexpr int64_t kFeatures = 64;
    if (x.sizes.size() != 4 || x.sizes[3] != kFeatures)
        torch_aclnn::host::refuse(x.name, c10::str("4 dimensions, the last one of ", kFeatures), shape_text(x.sizes));
}
void rotate(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, std::string_view mode) {
    write(x, upcast(x) * upcast(cos) + quarter_turned(upcast(x), mode == "half" ? 0 : 1) * upcast(sin));
}

void require_channels_in_groups(const NamedShape& input, const NamedCount& groups) {
    if (input.sizes.size() < 2 || input.sizes[1] % groups.count != 0)
        torch_aclnn::host::refuse(groups.name, c10::str("a divisor of ", input.name, "'s dimension 1"),
                                  c10::str(groups.count, " for ", shape_text(input.sizes)));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using RotaryMode = Between<int64_t, 0, 1>;  // halves, interleaved
using RotaryName = Kind<const char*, std::string_view, std::string_view, read_rotary_name>;
using RotaryLayout = Between<int64_t, 1, 4>;  // BSND, SBND, BNSD, TND: cos and sin have 1 where the heads are
using ChannelsFirst = Kind<const char*, std::string_view, std::string_view, read_channels_first>;
}  // namespace torch_aclnn::host::aten::kind

ATEN_ENTRY(aclnnRmsNorm, FLOATING, (In, x), (In, gamma), (Double, epsilon), (Out, y, like(x)), (Out, rstd, inverses({"x", x}, gamma))) {
    rms_norm(upcast(x), gamma, epsilon, y, rstd);
}
ATEN_ENTRY(aclnnRmsNormGrad, FLOATING, (In, dy, shaped_like(x)), (In, x), (In, rstd, inverses({"x", x}, gamma)), (In, gamma),
           (Out, dx, like(x)), (Out, dgamma, like(gamma))) {
    const at::Tensor inverse = upcast(rstd).reshape(reduced(x, normalised_dims(gamma), true).sizes);
    const at::Tensor normal = upcast(x) * inverse, of_normal = upcast(dy) * upcast(gamma);
    write(dx, inverse * (of_normal - normal * at::mean(of_normal * normal, normalised_dims(gamma), true)));
    write(dgamma, (upcast(dy) * normal).sum_to_size(gamma.sizes()));
}
// The sum is an output too, for the residual connection.
ATEN_ENTRY(aclnnAddRmsNorm, FLOATING, (In, x1), (In, x2, shaped_like(x1)), (In, gamma), (Double, epsilon), (Out, y, like(x1)),
           (Out, rstd, inverses({"x1", x1}, gamma)), (Out, x, like(x1))) {
    const at::Tensor sum = upcast(x1) + upcast(x2);
    rms_norm(sum, gamma, epsilon, y, rstd);
    write(x, sum);
}

// The normal takes the place of x1, and the sum that of x2.
ATEN_ENTRY(aclnnInplaceAddRmsNorm, FLOATING, (InOut, x1Ref), (InOut, x2Ref, shaped_like(x1Ref)), (In, gamma), (Double, epsilon),
           (Out, rstd, inverses({"x1Ref", x1Ref}, gamma))) {
    const at::Tensor sum = upcast(x1Ref) + upcast(x2Ref);
    rms_norm(sum, gamma, epsilon, x1Ref, rstd);
    write(x2Ref, sum);
}
// The normal twice: in FLOAT and in the data type of x1.
ATEN_ENTRY(aclnnAddRmsNormCast, FLOAT16 | BF16, (In, x1), (In, x2, shaped_like(x1)), (In, gamma), (Double, epsilon), (Out, y1, like(x1)),
           (Out, y2, like(x1)), (Out, rstd, inverses({"x1", x1}, gamma)), (Out, x, like(x1))) {
    const at::Tensor sum = upcast(x1) + upcast(x2);
    rms_norm(sum, gamma, epsilon, y1, rstd);
    write(y2, y1);
    write(x, sum);
}
// As Gemma has it: gamma is what is added to 1.
ATEN_ENTRY(aclnnGemmaRmsNorm, FLOATING, (In, x), (In, gamma), (Double, epsilon), (Out, y, like(x)),
           (Out, rstd, inverses({"x", x}, gamma))) {
    rms_norm(upcast(x), upcast(gamma) + 1, epsilon, y, rstd);
}

// silu of the first half along the dimension, times the second.
ATEN_ENTRY(aclnnSwiGlu, FLOATING, (In, x), (Dim, dim), (Out, out, halved("x", x, dim))) {
    const Gated gated(x, dim, true);
    write(out, at::silu(gated.activated) * gated.plain);
}
ATEN_ENTRY(aclnnSwiGluGrad, FLOATING, (In, yGrad, halved("x", x, dim)), (In, x), (Dim, dim), (Out, out, like(x))) {
    const Gated gated(x, dim, true);
    const at::Tensor grad = upcast(yGrad);
    write(out, at::cat({at::silu_backward(grad * gated.plain, gated.activated), grad * at::silu(gated.activated)}, dim));
}

// The halves are bounded, and what is not activated gets a bias. They are those of the dimension and all behind it together, one after
// the other or in turns. Only as many rows count as the groups have, and the others become zero.
ATEN_ENTRY(aclnnClippedSwiglu, FLOATING, (In, x), (OptIn, groupIndex), (Dim, dim), (Double, alpha), (Double, limit), (Double, bias),
           (Bool, interleaved), (Out, out, halved("x", x, dim))) {
    if (out.numel() == 0) return;
    const at::Tensor halves =
        upcast(x).flatten(from_front(dim, x.dim())).unflatten(-1, interleaved ? at::IntArrayRef{-1, 2} : at::IntArrayRef{2, -1});
    const int64_t side = interleaved ? -1 : -2;
    const at::Tensor activated = halves.select(side, 0).clamp_max(limit), plain = halves.select(side, 1).clamp(-limit, limit);
    at::Tensor product = swish(activated, alpha) * (plain + bias);
    if (groupIndex) {
        product = product.flatten(0, -2);
        const int64_t rows = product.size(0);
        product.slice(0, std::clamp<int64_t>(groupIndex->to(at::kLong).sum().item<int64_t>(), 0, rows)).zero_();
    }
    write(out, product);
}

// gelu of one half along the dimension, times the other; outGelu is the first factor.
static void write_geglu(const Gated& gated, std::string_view approximate, at::Tensor& out, at::Tensor& outGelu) {
    const at::Tensor gelu = at::gelu(gated.activated, approximate);
    write(out, gated.plain * gelu);
    write(outGelu, gelu);
}
ATEN_ENTRY(aclnnGeGlu, FLOATING, (In, self), (Dim, dim), (GeluMode, approximate), (Out, out, halved("self", self, dim)),
           (Out, outGelu, halved("self", self, dim))) {
    write_geglu(Gated(self, dim, false), approximate, out, outGelu);
}
ATEN_ENTRY(aclnnGeGluV3, FLOATING, (In, self), (Dim, dim), (GeluMode, approximate), (Bool, activateLeft),
           (Out, out, halved("self", self, dim)), (Out, outGelu, halved("self", self, dim))) {
    write_geglu(Gated(self, dim, activateLeft), approximate, out, outGelu);
}
ATEN_ENTRY(aclnnGeGluV3Backward, FLOATING, (In, gradOutput, halved("self", self, dim)), (In, self), (In, gelu, halved("self", self, dim)),
           (Dim, dim), (GeluMode, approximate), (Bool, activateLeft), (Out, gradInput, like(self))) {
    const Gated gated(self, dim, activateLeft);
    const at::Tensor of_plain = upcast(gradOutput) * upcast(gelu);
    const at::Tensor of_activated = at::gelu_backward(upcast(gradOutput) * gated.plain, gated.activated, approximate);
    write(gradInput, activateLeft ? at::cat({of_activated, of_plain}, dim) : at::cat({of_plain, of_activated}, dim));
}

#define GROUP_NORM_SILU(entry_point, activate, ...)                                                                                   \
    ATEN_CHECKED_ENTRY(entry_point, FLOATING, require_channels_in_groups({"self", self}, {"group", group}), (In, self),               \
                       (OptIn, gamma, shape({self.size(1)})), (OptIn, beta, shape({self.size(1)})), (Positive, group), (Double, eps), \
                       __VA_ARGS__(Out, out, like(self)), (Out, meanOut, shape({self.size(0), group})),                               \
                       (Out, rstdOut, shape({self.size(0), group}))) {                                                                \
        const at::Tensor x = dense(self);                                                                                             \
        const GroupedChannels c(x);                                                                                                   \
        const auto [normal, mean, rstd] =                                                                                             \
            at::native_group_norm(x, dense(gamma), dense(beta), c.batch, c.channels, c.positions, group, eps);                        \
        write(out, activate ? at::silu(normal) : normal);                                                                             \
        write(meanOut, mean);                                                                                                         \
        write(rstdOut, rstd);                                                                                                         \
    }
GROUP_NORM_SILU(aclnnGroupNormSilu, true)
GROUP_NORM_SILU(aclnnGroupNormSiluV2, activateSilu, (Bool, activateSilu), )

ATEN_CHECKED_ENTRY(aclnnGroupNormSwish, FLOATING, require_channels_in_groups({"x", x}, {"numGroups", numGroups}), (In, x),
                   (In, gamma, shape({x.size(1)})), (In, beta, shape({x.size(1)})), (Positive, numGroups), (ChannelsFirst, dataFormat),
                   (Double, eps), (Bool, activateSwish), (Double, swishScale), (Out, y, like(x)),
                   (Out, meanOut, shape({x.size(0), numGroups})), (Out, rstdOut, shape({x.size(0), numGroups}))) {
    const at::Tensor wide = dense(x);
    const GroupedChannels c(wide);
    const auto [normal, mean, rstd] =
        at::native_group_norm(wide, dense(gamma), dense(beta), c.batch, c.channels, c.positions, numGroups, eps);
    write(y, activateSwish ? swish(normal, swishScale) : normal);
    write(meanOut, mean);
    write(rstdOut, rstd);
}
ATEN_CHECKED_ENTRY(aclnnGroupNormSwishGrad, FLOATING, require_channels_in_groups({"x", x}, {"numGroups", numGroups}),
                   (In, dy, shaped_like(x)), (In, mean, shape({x.size(0), numGroups})), (In, rstd, shape({x.size(0), numGroups})), (In, x),
                   (In, gamma, shape({x.size(1)})), (In, beta, shape({x.size(1)})), (Positive, numGroups), (ChannelsFirst, dataFormat),
                   (Double, swishScale), (Bool, dgammaIsRequire), (Bool, dbetaIsRequire), (Out, dx, like(x)), (OptOut, dgamma, like(gamma)),
                   (OptOut, dbeta, like(beta))) {
    const at::Tensor wide = dense(x);
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
    const auto [grad, of_gamma, of_beta] =
        at::native_group_norm_backward(of_normal.contiguous(), flat, dense(mean), dense(rstd), dense(gamma), c.batch, c.channels,
                                       c.positions, numGroups, {true, dgammaIsRequire, dbetaIsRequire});
    write(dx, grad);
    write(dgamma, of_gamma);
    write(dbeta, of_beta);
}

// Of queries and keys in place.
ATEN_ENTRY(aclnnApplyRotaryPosEmb, FLOATING, (InOut, queryRef, rotated({"queryRef", queryRef}, {"cos", cos}, {"sin", sin})),
           (InOut, keyRef, rotated({"keyRef", keyRef}, {"cos", cos}, {"sin", sin})), (In, cos), (In, sin), (RotaryLayout, layout)) {
    rotate(queryRef, cos, sin, "half");
    rotate(keyRef, cos, sin, "half");
}
ATEN_ENTRY(aclnnApplyRotaryPosEmbV2, FLOATING, (InOut, queryRef, rotated({"queryRef", queryRef}, {"cos", cos}, {"sin", sin})),
           (InOut, keyRef, rotated({"keyRef", keyRef}, {"cos", cos}, {"sin", sin})), (In, cos), (In, sin), (RotaryLayout, layout),
           (RotaryName, rotaryMode)) {
    rotate(queryRef, cos, sin, rotaryMode);
    rotate(keyRef, cos, sin, rotaryMode);
}

// Of neighbours, which the result has in two halves.
ATEN_CHECKED_ENTRY(aclnnInterleaveRope, FLOATING, require_features({"x", x}), (In, x), (In, cos), (In, sin, shaped_like(cos)),
                   (Out, out, rotated({"x", x}, {"cos", cos}, {"sin", sin}))) {
    const at::Tensor halves = upcast(x).unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2);
    write(out, halves * upcast(cos) + quarter_turned(halves, 0) * upcast(sin));
}

ATEN_ENTRY(aclnnRotaryPositionEmbedding, FLOATING, (In, x), (In, cos), (In, sin), (RotaryMode, mode),
           (Out, y, rotated({"x", x}, {"cos", cos}, {"sin", sin}))) {
    write(y, upcast(x) * upcast(cos) + quarter_turned(upcast(x), mode) * upcast(sin));
}
// Any other way of turning is a matrix for the last dimension.
ATEN_ENTRY(aclnnRotaryPositionEmbeddingV2, FLOATING, (In, x), (In, cos), (In, sin), (RotaryMode, mode),
           (OptIn, rotate, shape({size_of(x, -1), size_of(x, -1)})), (Out, y, rotated({"x", x}, {"cos", cos}, {"sin", sin}))) {
    const at::Tensor turned = rotate ? at::matmul(upcast(x), upcast(*rotate)) : quarter_turned(upcast(x), mode);
    write(y, upcast(x) * upcast(cos) + turned * upcast(sin));
}
ATEN_ENTRY(aclnnRotaryPositionEmbeddingGrad, FLOATING, (In, dy), (In, cos), (In, sin), (OptIn, x, shaped_like(dy)), (RotaryMode, mode),
           (Out, dx, rotated({"dy", dy}, {"cos", cos}, {"sin", sin})), (OptOut, dcos, like(cos)), (OptOut, dsin, like(sin))) {
    const at::Tensor grad = upcast(dy);
    write(dx, grad * upcast(cos) - quarter_turned(grad * upcast(sin), mode));
    if (!x) return;
    write(dcos, (grad * upcast(*x)).sum_to_size(cos.sizes()));
    write(dsin, (grad * quarter_turned(upcast(*x), mode)).sum_to_size(sin.sizes()));
}
