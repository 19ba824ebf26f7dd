// Building blocks of transformers, which torch_npu offers as npu_rms_norm, npu_swiglu, npu_rotary_mul and others.

#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/pointwise/gated.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/normalization/transformer_calls.h"

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

// The sizes of batch, channels and positions, as ATen's group normalisation asks for them.
struct GroupedChannels {
    explicit GroupedChannels(const at::Tensor& x)
        : batch(x.size(0)), channels(x.size(1)), positions(x.numel() / std::max<int64_t>(batch * channels, 1)) {}
    int64_t batch, channels, positions;
};

// The angles broadcast to what they turn.
Expected rotated(const NamedShape& x, const NamedShape& cos, const NamedShape& sin) {
    require_even(x, -1);
    for (const NamedShape& angles : {cos, sin})
        if (at::IntArrayRef(broadcast({x, angles}).sizes) != x.sizes)
            refuse(angles.name, c10::str("a shape that broadcasts to that of ", x.name, ", ", x.sizes), shape_text(angles.sizes));
    return x.sizes;
}
void rotate(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, std::string_view mode) {
    write(x, upcast(x) * upcast(cos) + quarter_turned(upcast(x), mode == "half" ? 0 : 1) * upcast(sin));
}

}  // namespace

static void compute(const call::RmsNormGrad& a) {
    const at::Tensor inverse = upcast(a.rstd).reshape(reduced(a.x, normalised_dims(a.gamma), true).sizes);
    const at::Tensor normal = upcast(a.x) * inverse, of_normal = upcast(a.dy) * upcast(a.gamma);
    write(a.dx, inverse * (of_normal - normal * at::mean(of_normal * normal, normalised_dims(a.gamma), true)));
    write(a.dgamma, (upcast(a.dy) * normal).sum_to_size(a.gamma.sizes()));
}
// The sum is an output, too, for the residual connection.
static void compute(const call::AddRmsNorm& a) {
    const at::Tensor sum = upcast(a.x1) + upcast(a.x2);
    rms_norm(sum, a.gamma, a.epsilon, a.y, a.rstd);
    write(a.x, sum);
}

// The normal takes the place of x1, and the sum that of x2.
static void compute(const call::InplaceAddRmsNorm& a) {
    const at::Tensor sum = upcast(a.x1Ref) + upcast(a.x2Ref);
    rms_norm(sum, a.gamma, a.epsilon, a.x1Ref, a.rstd);
    write(a.x2Ref, sum);
}
// The normal is written twice: in FLOAT and in the data type of x1.
static void compute(const call::AddRmsNormCast& a) {
    const at::Tensor sum = upcast(a.x1) + upcast(a.x2);
    rms_norm(sum, a.gamma, a.epsilon, a.y1, a.rstd);
    write(a.y2, a.y1);
    write(a.x, sum);
}

// The result is silu of the first half along the dimension, times the second.
static void compute(const call::SwiGlu& a) {
    const Gated gated(a.x, a.dim, true);
    write(a.out, at::silu(gated.activated) * gated.plain);
}
static void compute(const call::SwiGluGrad& a) {
    const Gated gated(a.x, a.dim, true);
    const at::Tensor grad = upcast(a.yGrad);
    write(a.out, at::cat({at::silu_backward(grad * gated.plain, gated.activated), grad * at::silu(gated.activated)}, a.dim));
}

// The halves are clamped, and the one that is not activated gets a bias. The dimension and all behind it are flattened and split, into
// halves or into neighbours. Rows behind those of the groups become zero.
static void compute(const call::ClippedSwiglu& a) {
    if (a.out.numel() == 0) return;
    const at::Tensor halves =
        upcast(a.x).flatten(from_front(a.dim, a.x.dim())).unflatten(-1, a.interleaved ? at::IntArrayRef{-1, 2} : at::IntArrayRef{2, -1});
    const int64_t side = a.interleaved ? -1 : -2;
    const at::Tensor activated = halves.select(side, 0).clamp_max(a.limit), plain = halves.select(side, 1).clamp(-a.limit, a.limit);
    at::Tensor product = swish(activated, a.alpha) * (plain + a.bias);
    if (a.groupIndex) {
        product = product.flatten(0, -2);
        const int64_t rows = product.size(0);
        product.slice(0, std::clamp<int64_t>(a.groupIndex->to(at::kLong).sum().item<int64_t>(), 0, rows)).zero_();
    }
    write(a.out, product);
}

// The result is gelu of one half along the dimension, times the other; outGelu is the first factor.
static void compute(const call::GeGlu& a) {
    const Gated gated(a.self, a.dim, a.activateLeft);
    const at::Tensor gelu = at::gelu(gated.activated, a.approximate);
    write(a.out, gated.plain * gelu);
    write(a.outGelu, gelu);
}
static void compute(const call::GeGluV3Backward& a) {
    const Gated gated(a.self, a.dim, a.activateLeft);
    const at::Tensor of_plain = upcast(a.gradOutput) * upcast(a.gelu);
    const at::Tensor of_activated = at::gelu_backward(upcast(a.gradOutput) * gated.plain, gated.activated, a.approximate);
    write(a.gradInput, a.activateLeft ? at::cat({of_activated, of_plain}, a.dim) : at::cat({of_plain, of_activated}, a.dim));
}

static void compute(const call::GroupNormSwish& a) {
    const at::Tensor wide = dense(a.x);
    const GroupedChannels c(wide);
    const auto [normal, mean, rstd] =
        at::native_group_norm(wide, dense(a.gamma), dense(a.beta), c.batch, c.channels, c.positions, a.numGroups, a.eps);
    write(a.y, a.activateSwish ? swish(normal, a.swishScale) : normal);
    write(a.meanOut, mean);
    write(a.rstdOut, rstd);
}
static void compute(const call::GroupNormSwishGrad& a) {
    const at::Tensor wide = dense(a.x);
    const GroupedChannels c(wide);
    const auto by_group = [&](const at::Tensor& numbers) {
        return upcast(numbers)
            .reshape({c.batch, a.numGroups, 1})
            .expand({c.batch, a.numGroups, c.channels / a.numGroups})
            .reshape({c.batch, c.channels, 1});
    };
    const at::Tensor flat = wide.view({c.batch, c.channels, c.positions});
    const at::Tensor normal = (flat - by_group(a.mean)) * by_group(a.rstd) * upcast(a.gamma).view({-1, 1}) + upcast(a.beta).view({-1, 1});
    const at::Tensor of_normal = upcast(a.dy).reshape(normal.sizes()) * swish_slope(normal, a.swishScale);
    write_each(at::native_group_norm_backward(of_normal.contiguous(), flat, dense(a.mean), dense(a.rstd), dense(a.gamma), c.batch,
                                              c.channels, c.positions, a.numGroups, {true, a.dgammaIsRequire, a.dbetaIsRequire}),
               a.dx, a.dgamma, a.dbeta);
}

// Rotates queries and keys in place.
static void compute(const call::ApplyRotaryPosEmb& a) {
    const std::string_view mode = a.rotaryMode.empty() ? "half" : a.rotaryMode;
    rotate(a.queryRef, a.cos, a.sin, mode);
    rotate(a.keyRef, a.cos, a.sin, mode);
}

// Rotates pairs of neighbours, which the result has in two halves.
static void compute(const call::InterleaveRope& a) {
    const at::Tensor halves = upcast(a.x).unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2);
    write(a.out, halves * upcast(a.cos) + quarter_turned(halves, 0) * upcast(a.sin));
}

// A matrix for the last dimension stands for any other way of turning.
static void compute(const call::RotaryPositionEmbedding& a) {
    const at::Tensor turned = a.rotate ? at::matmul(upcast(a.x), upcast(*a.rotate)) : quarter_turned(upcast(a.x), a.mode);
    write(a.y, upcast(a.x) * upcast(a.cos) + turned * upcast(a.sin));
}
static void compute(const call::RotaryPositionEmbeddingGrad& a) {
    const at::Tensor grad = upcast(a.dy);
    write(a.dx, grad * upcast(a.cos) - quarter_turned(grad * upcast(a.sin), a.mode));
    if (!a.x) return;
    if (given(a.dcos)) write(a.dcos, (grad * upcast(*a.x)).sum_to_size(a.cos.sizes()));
    if (given(a.dsin)) write(a.dsin, (grad * quarter_turned(upcast(*a.x), a.mode)).sum_to_size(a.sin.sizes()));
}

static void group_norm_silu(const call::GroupNormSilu& a, bool with_silu) {
    const at::Tensor x = dense(a.self);
    const GroupedChannels c(x);
    const auto [normal, mean, rstd] =
        at::native_group_norm(x, dense(a.gamma), dense(a.beta), c.batch, c.channels, c.positions, a.group, a.eps);
    write(a.out, with_silu ? at::silu(normal) : normal);
    write(a.meanOut, mean);
    write(a.rstdOut, rstd);
}
