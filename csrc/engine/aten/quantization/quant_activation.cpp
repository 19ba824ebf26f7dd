// Normalisation and gated units whose result is quantised at once.
#include <ATen/ATen.h>

#include <initializer_list>
#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/normalization/rms_norm.h"
#include "engine/aten/numerics/results.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/quantization/quant_activation_calls.h"

using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// x / rms(x) gamma + beta, in float64.
at::Tensor normalised(const at::Tensor& x, const at::Tensor& gamma, const std::optional<at::Tensor>& beta, double epsilon) {
    const at::Tensor normal = rms_normal(x, gamma, epsilon).normal * to_double(gamma);
    return given(beta) ? normal + to_double(*beta) : normal;
}

at::Tensor sum_of(const at::Tensor& x1, const at::Tensor& x2) {
    return to_double(x1) + to_double(x2);
}

// Scales that divide or multiply, and zero points.
at::Tensor scaled(const at::Tensor& x, const at::Tensor& scales, const std::optional<at::Tensor>& zero_points, bool divide) {
    const at::Tensor numbers = divide ? x / to_double(scales) : x * to_double(scales);
    return given(zero_points) ? numbers + to_double(*zero_points) : numbers;
}

void require_eight_bits(const char* name, const PackableTensor& y) {
    if (y.scalar_type() != at::kChar || y.has_four_bits()) refuse(name, "a data type of INT8", c10::str(y.scalar_type()));
}

// What is added to, or multiplies, each row of a normalisation.
void require_rows_of(const at::Tensor& x, std::initializer_list<std::pair<const char*, const std::optional<at::Tensor>&>> parameters) {
    for (const auto& [name, tensor] : parameters) require_broadcast(name, tensor, x.sizes());
}

void require_mask(const std::optional<std::vector<unsigned char>>& mask) {
    if (mask) torch_aclnn::host::aten::require_count("outputMask", mask->size(), 2, 0, 0);
}

bool first_wanted(const std::optional<std::vector<unsigned char>>& mask) {
    return !mask || mask->empty() || (*mask)[0] != 0;
}
bool second_wanted(const std::optional<std::vector<unsigned char>>& mask, const std::optional<at::Tensor>& smooth1,
                   const std::optional<at::Tensor>& smooth2) {
    return mask && !mask->empty() ? (*mask)[1] != 0 : given(smooth1) && given(smooth2);
}

// Without a mask the scales say which results are wanted.
void require_first_scale(const std::optional<std::vector<unsigned char>>& mask, const std::optional<at::Tensor>& smooth1,
                         const std::optional<at::Tensor>& smooth2) {
    if ((!mask || mask->empty()) && given(smooth2) && !given(smooth1))
        torch_aclnn::host::refuse_null("smoothScale1", "a tensor, as smoothScale2 is given without outputMask");
}

void quantise_normal(const at::Tensor& normal, const std::optional<at::Tensor>& smooth, const PackableTensor& y, at::Tensor& scale) {
    const DynamicallyQuantised result = quantise_rows(given(smooth) ? normal * to_double(*smooth) : normal, y.largest());
    y.store(result.numbers);
    write(scale, result.scale);
}

// silu of one half, times the other.
at::Tensor gated(const at::Tensor& x, bool activate_left) {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return at::silu(halves[activate_left ? 0 : 1]) * halves[activate_left ? 1 : 0];
}

// Gated units of neighbouring features, with limits.
at::Tensor gated_by_pairs(const at::Tensor& x, double limit, double alpha, double bias) {
    const at::Tensor pairs = x.unflatten(-1, at::IntArrayRef{-1, 2});
    const at::Tensor gate = pairs.select(-1, 0).clamp_max(limit), linear = pairs.select(-1, 1).clamp(-limit, limit);
    return gate * at::sigmoid(alpha * gate) * (linear + bias);
}

// The values for each row: one row for all of them, or one for each group.
at::Tensor of_rows(const at::Tensor& values, const std::optional<at::Tensor>& ends, int64_t rows) {
    const at::Tensor numbers = to_double(values);
    if (!ends) return numbers;
    return rows_of_groups(numbers.dim() == 1 ? numbers.unsqueeze(1) : numbers, *ends, rows);
}

std::optional<at::Tensor> ends_of(const std::optional<at::Tensor>& groups, bool sizes) {
    if (!given(groups)) return std::nullopt;
    return sizes ? at::cumsum(groups->to(at::kLong), 0) : groups->to(at::kLong);
}

void require_groups(const std::optional<at::Tensor>& groups) {
    if (given(groups) && groups->dim() != 1) refuse("groupIndex", "1 dimension", shape_text(groups->sizes()));
}

// Values for so many features of each row of x: in one row, or in one for each group.
void require_of_rows(const char* name, const std::optional<at::Tensor>& values, const std::optional<at::Tensor>& groups,
                     const at::Tensor& x, int64_t features) {
    if (!given(groups)) return require_broadcast(name, values, {c10::multiply_integers(x.sizes().slice(0, x.dim() - 1)), features});
    if (given(values) && values->dim() != 1 && (values->dim() != 2 || (values->size(1) != 1 && values->size(1) != features)))
        refuse(name, c10::str("a row of ", features, " values, or one value, for each group"), shape_text(values->sizes()));
}

Expected half_of(const at::Tensor& x) {
    require_even({"x", x}, -1);
    return with_size(x.sizes(), -1, x.size(-1) / 2);
}
// What is the largest of each row; a static quantisation does not write it.
IfWanted scales_of_halves(const at::Tensor& x, std::string_view mode) {
    return if_wanted(mode == "dynamic", without_dim(x.sizes(), -1));
}

// Statically, by scales and offsets; or dynamically, by what is the largest of each row. The scale is what the numbers were multiplied by.
void swiglu_quant(const at::Tensor& x, const std::optional<at::Tensor>& smooth, const std::optional<at::Tensor>& offsets,
                  const std::optional<at::Tensor>& ends, bool activate_left, bool dynamic, const PackableTensor& y, at::Tensor& scale) {
    const at::Tensor rows = gated(to_double(x).flatten(0, -2), activate_left);
    at::Tensor numbers = given(smooth) ? rows * of_rows(*smooth, ends, rows.size(0)) : rows;
    if (!dynamic) {
        if (given(offsets)) numbers = numbers + of_rows(*offsets, ends, rows.size(0));
        return y.store(numbers.view(y.sizes()));
    }
    const DynamicallyQuantised result = quantise_rows(numbers, y.largest());
    y.store(result.numbers.view(y.sizes()));
    write(scale, 1 / result.scale);
}

struct DequantSwiglu {
    const at::Tensor& x;
    const std::optional<at::Tensor>&weight_scale, &activation_scale, &bias, &quant_scale, &quant_offset;

    // The numbers that the quantised x represents.
    at::Tensor dequantised(const std::optional<at::Tensor>& ends) const {
        at::Tensor rows = to_double(x).flatten(0, -2);
        const int64_t count = rows.size(0);
        if (x.scalar_type() != at::kInt) return rows;
        const bool early = given(bias) && bias->scalar_type() == at::kInt;
        if (early) rows = rows + of_rows(*bias, ends, count);
        if (given(weight_scale)) rows = rows * of_rows(*weight_scale, ends, count);
        if (given(activation_scale)) rows = rows * to_double(*activation_scale).reshape({-1, 1});
        return given(bias) && !early ? rows + of_rows(*bias, ends, count) : rows;
    }
    void store(const at::Tensor& rows, const std::optional<at::Tensor>& ends, bool dynamic, const PackableTensor& y,
               at::Tensor& scale) const {
        at::Tensor numbers = rows;
        const int64_t count = rows.size(0);
        if (!dynamic) {
            if (given(quant_scale)) numbers = numbers / of_rows(*quant_scale, ends, count);
            if (given(quant_offset)) numbers = numbers + of_rows(*quant_offset, ends, count);
            return y.store(numbers.view(y.sizes()));
        }
        if (given(quant_scale)) numbers = numbers * of_rows(*quant_scale, ends, count);
        const DynamicallyQuantised result = quantise_rows(numbers, 127);
        y.store(result.numbers.view(y.sizes()));
        write(scale, result.scale);
    }
};

// What is not used may be anything.
void require_dequant(const DequantSwiglu& unit, const std::optional<at::Tensor>& groups, bool dynamic, const PackableTensor& y) {
    require_eight_bits("y", y);
    require_groups(groups);
    const at::Tensor& x = unit.x;
    const int64_t half = half_of(x).sizes.back();
    require_of_rows("quantScale", unit.quant_scale, groups, x, half);
    if (!dynamic) require_of_rows("quantOffset", unit.quant_offset, groups, x, half);
    if (x.scalar_type() != at::kInt) return;
    if (!given(unit.weight_scale)) torch_aclnn::host::refuse_null("weightScale", "a tensor, as x is INT32");
    require_of_rows("weightScale", unit.weight_scale, groups, x, x.size(-1));
    require_of_rows("bias", unit.bias, groups, x, x.size(-1));
    const int64_t rows = c10::multiply_integers(x.sizes().slice(0, x.dim() - 1));
    if (given(unit.activation_scale)) require_expected("activationScale", *unit.activation_scale, elements(rows));
}

void require_swiglu(const at::Tensor& x, const std::optional<at::Tensor>& smooth, const std::optional<at::Tensor>& offsets,
                    const std::optional<at::Tensor>& groups, bool dynamic) {
    require_groups(groups);
    const int64_t half = half_of(x).sizes.back();
    require_of_rows("smoothScales", smooth, groups, x, half);
    if (!dynamic) require_of_rows("offsets", offsets, groups, x, half);
}

}  // namespace

static void compute(const call::AddRmsNormQuant& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, a.beta, a.epsilon);
    a.y1.store(scaled(normal, a.scales1, a.zeroPoints1, a.divMode));
    if (given(a.scales2)) a.y2.store(scaled(normal, *a.scales2, a.zeroPoints2, a.divMode));
    write(a.xOut, sum);
    write(a.rmsNormOut, normal);
}
static void compute(const call::AddRmsNormDynamicQuantV2& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, a.beta, a.epsilon);
    if (first_wanted(a.outputMask)) quantise_normal(normal, a.smoothScale1, a.y1, a.scale1);
    if (second_wanted(a.outputMask, a.smoothScale1, a.smoothScale2)) quantise_normal(normal, a.smoothScale2, a.y2, a.scale2);
    write(a.xOut, sum);
}
static void compute(const call::AddRmsNormDynamicQuant& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, std::nullopt, a.epsilon);
    quantise_normal(normal, a.smoothScale1, a.y1, a.scale1);
    if (given(a.smoothScale2)) quantise_normal(normal, a.smoothScale2, a.y2, a.scale2);
    write(a.xOut, sum);
}

// swigluMode 1 pairs neighbours and limits them.
static void compute(const call::DequantSwigluQuant& a) {
    const DequantSwiglu unit{a.x, a.weightScale, a.activationScale, a.bias, a.quantScale, a.quantOffset};
    const std::optional<at::Tensor> ends = ends_of(a.groupIndex, true);
    const at::Tensor rows = unit.dequantised(ends);
    unit.store(a.swigluMode == 1 ? gated_by_pairs(rows, a.clampLimit, a.gluAlpha, a.gluBias) : gated(rows, a.activateLeft), ends,
               a.quantMode == "dynamic", a.y, a.scale);
}

#include "vocabulary/quantization/quant_activation_rows.inc"
