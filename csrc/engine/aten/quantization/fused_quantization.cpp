// Quantisation fused with the step before it, and from integers back.

#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/quantization/fused_quantization_calls.h"

namespace {

// Multiplies each piece of K features by the rotation.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& rotation) {
    return at::matmul(to_double(x).unflatten(1, {-1, rotation.size(0)}), to_double(rotation)).flatten(1);
}

// Each block of rows and columns has one scale: its largest number divided by 127, but at least the smallest scale.
struct QuantizedBlocks {
    const at::Tensor& x;
    int64_t rows, columns;

    int64_t row_blocks() const { return (x.size(-2) + rows - 1) / rows; }
    int64_t column_blocks() const { return (x.size(-1) + columns - 1) / columns; }
    Expected scales() const { return with_size(with_size(x.sizes(), -2, row_blocks()).sizes, -1, column_blocks()); }
    at::Tensor spread(const at::Tensor& of_blocks) const {
        const at::Tensor wide = of_blocks.repeat_interleave(rows, -2).repeat_interleave(columns, -1);
        return wide.narrow(-2, 0, x.size(-2)).narrow(-1, 0, x.size(-1));
    }
    void run(double smallest, const PackableTensor& y, at::Tensor& scale_out) const {
        const at::Tensor numbers = to_double(x);
        const at::Tensor filled =
            at::constant_pad_nd(numbers.abs(), {0, column_blocks() * columns - x.size(-1), 0, row_blocks() * rows - x.size(-2)});
        const at::Tensor largest = filled.unflatten(-1, {-1, columns}).amax(-1).unflatten(-2, {-1, rows}).amax(-2);
        const at::Tensor scale = (largest / 127).clamp_min(smallest);
        y.store(numbers / spread(at::where(scale == 0, at::ones_like(scale), scale)));
        write(scale_out, scale);
    }
};

// Rows of the updates go where the indices say: to a batch of their own or one that is named, from a place on along the axis.
struct QuantScatter {
    const at::Tensor &self, &indices, &updates, &scales;
    const OptTensor& zeros;
    int64_t axis;

    int64_t dim() const { return from_front(axis, self.dim()); }
    void require(int64_t quant_axis) const {
        if (self.dim() < 3 || self.scalar_type() != at::kChar) refuse("selfRef", "INT8 of 3 dimensions or more", shape_text(self.sizes()));
        if (dim() < 1 || dim() > self.dim() - 2) refuse("axis", "neither the first dimension nor the last", std::to_string(axis));
        if (from_front(quant_axis, self.dim()) != self.dim() - 1) refuse("quantAxis", "the last dimension", std::to_string(quant_axis));
        const int64_t rows = updates.dim() > 0 ? updates.size(0) : 0;
        if (indices.dim() == 2 ? indices.sizes() != at::IntArrayRef{rows, 2} : indices.sizes() != at::IntArrayRef{rows})
            refuse("indices", c10::str("a number or a pair for each of updates' ", rows), shape_text(indices.sizes()));
        Expected expected = with_size(self.sizes(), 0, rows);
        expected.sizes[dim()] = updates.dim() == self.dim() ? updates.size(dim()) : 0;
        require_expected("updates", updates, expected);
        if (rows > self.size(0) || updates.size(dim()) > self.size(dim()))
            refuse("updates", c10::str("at most the sizes of selfRef, ", self.sizes()), shape_text(updates.sizes()));
        require_expected("quantScales", scales, elements(self.size(-1)));
        if (given(zeros)) require_expected("quantZeroPoints", *zeros, elements(self.size(-1)));
    }
    void run() const {
        const bool pairs = indices.dim() == 2;
        const at::Tensor places = pairs ? indices.select(1, 1) : indices;
        require_range("indices", places, 0, self.size(dim()) - updates.size(dim()) + 1);
        if (pairs) require_range("indices", indices.select(1, 0), 0, self.size(0));
        const OptTensor flat = given(zeros) ? std::optional(zeros->flatten()) : std::nullopt;
        const at::Tensor numbers = at::round(scaled(to_double(updates), scales.flatten(), flat, true)).clamp(-128, 127);
        for (int64_t row = 0; row < updates.size(0); row++) {
            const int64_t batch = pairs ? indices.select(0, row)[0].item<int64_t>() : row, place = places[row].item<int64_t>();
            self.select(0, batch).narrow(dim() - 1, place, updates.size(dim())).copy_(numbers.select(0, row));
        }
    }
};

// The gradients of weight * silu(min(first, limit)) * clamp(second, -limit, limit), for the rows before `rows`; a limit of 0 means none.
struct SwigluGradient {
    const at::Tensor &grad, &x;
    const OptTensor &weight, &origin;
    double limit;

    at::Tensor of_x() const {
        const std::vector<at::Tensor> halves = to_double(x).chunk(2, -1);
        const at::Tensor first = limited(halves[0], false), second = limited(halves[1], true), gate = at::sigmoid(first);
        const at::Tensor by = times(to_double(grad), weight);
        at::Tensor of_first = by * second * gate * (1 + first * (1 - gate)), of_second = by * first * gate;
        if (limit != 0) {
            of_first = of_first * halves[0].lt(limit);
            of_second = of_second * halves[1].abs().lt(limit);
        }
        return at::cat({of_first, of_second}, -1);
    }
    at::Tensor of_weight() const { return (to_double(grad) * to_double(*origin)).sum(-1, true); }
    at::Tensor limited(const at::Tensor& half, bool both) const {
        if (limit == 0) return half;
        return both ? half.clamp(-limit, limit) : half.clamp_max(limit);
    }
    // Rows that belong to no group have no gradient.
    static at::Tensor kept(const at::Tensor& of_rows, const OptTensor& counts) {
        if (!given(counts)) return of_rows;
        const at::Tensor rows = of_rows.flatten(0, -2);
        return (rows * at::arange(rows.size(0)).lt(counts->sum()).unsqueeze(1)).view(of_rows.sizes());
    }
};

Elements inverses_of(const at::Tensor& x, const at::Tensor& gamma) {
    return elements(c10::multiply_integers(reduced(x, normalised_dims(gamma), true).sizes));
}

}  // namespace

// groupIndex has the ends of groups of rows; the last one is the end of all rows.
static void compute(const call::GroupQuant& a) {
    const at::Tensor numbers = to_double(a.x) * rows_of_groups(to_double(a.scale), a.groupIndex, a.x.size(0));
    a.y.store(plus(numbers, a.offset));
}
static void check(const call::GeluQuant& a) {
    if (a.quantMode == "static" && !given(a.inputScale)) refuse_null("inputScale", "a tensor, as quantMode is static");
    require_bytes("y", a.y);
}
// A scale smooths the rows before they are quantised.
static void compute(const call::GeluQuant& a) {
    const at::Tensor activated = at::gelu(to_double(a.self), a.approximate);
    if (a.quantMode == "static") return a.y.store(scaled(activated, *a.inputScale, a.inputOffset, false));
    store_rows(times(activated, a.inputScale), a.y, a.outScale);
}
// An integral bias comes before the scales.
static void compute(const call::DequantBias& a) {
    const bool early = given(a.biasOptional) && at::isIntegralType(a.biasOptional->scalar_type(), false);
    at::Tensor numbers = plus(to_double(a.x), early ? a.biasOptional : std::nullopt) * to_double(a.weightScale);
    if (given(a.activateScaleOptional)) numbers = numbers * to_double(*a.activateScaleOptional).unsqueeze(-1);
    write(a.out, early ? numbers : plus(numbers, a.biasOptional));
}
static void compute(const call::RmsNormQuantV3& a) {
    const RmsNormal result = rms_normal(to_double(a.x), a.gamma, a.epsilon);
    a.y.store(scaled(plus(result.normal * to_double(a.gamma), a.beta), a.scale, a.offset, a.divMode));
    if (a.outputRstd) write(a.rstd, result.inverse);
}
static void compute(const call::RmsNormGradQuant& a) {
    const std::vector<int64_t> dims = normalised_dims(a.gamma);
    const at::Tensor inverse = to_double(a.rstd).reshape(reduced(a.x, dims, true).sizes);
    const at::Tensor normal = to_double(a.x) * inverse, of_normal = to_double(a.dy) * to_double(a.gamma);
    a.dx.store(scaled(inverse * (of_normal - normal * at::mean(of_normal * normal, dims, true)), a.scaleX, a.offsetX, a.divMode));
    write(a.dgamma, (to_double(a.dy) * normal).sum_to_size(a.gamma.sizes()));
}

static void compute(const call::SwigluGroupQuantGrad& a) {
    const SwigluGradient gradient{a.gradY, a.x, a.weight, a.yOrigin, a.clampLimit};
    write(a.gradX, SwigluGradient::kept(gradient.of_x(), a.groupIndex));
    if (given(a.weight)) write(a.gradWeight, SwigluGradient::kept(gradient.of_weight(), a.groupIndex));
}

// Each matrix of x has a left and a right factor.
static void compute(const call::FlatQuant& a) {
    const at::Tensor product = at::matmul(at::matmul(to_double(a.kroneckerP1), to_double(a.x)), to_double(a.kroneckerP2));
    const at::Tensor scale = product.flatten(1).abs().amax(1) / (7 * a.clipRatio);
    const at::Tensor by = at::where(scale == 0, at::ones_like(scale), scale);
    a.out.store(product / by.view({-1, 1, 1}));
    write(a.quantScale, scale);
}
