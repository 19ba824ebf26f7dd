// Normalisation and gated units whose result is quantised at once.

#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/pointwise/gated.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/quantization/quant_activation_calls.h"

// Returns x / rms(x) gamma + beta, in float64.
static at::Tensor normalised(const at::Tensor& x, const at::Tensor& gamma, const OptTensor& beta, double epsilon) {
    return plus(rms_normal(x, gamma, epsilon).normal * to_double(gamma), beta);
}

static at::Tensor sum_of(const at::Tensor& x1, const at::Tensor& x2) {
    return to_double(x1) + to_double(x2);
}

static bool first_wanted(const std::optional<std::vector<unsigned char>>& mask) {
    return !mask || mask->empty() || (*mask)[0] != 0;
}
static bool second_wanted(const std::optional<std::vector<unsigned char>>& mask, const OptTensor& smooth1, const OptTensor& smooth2) {
    return mask && !mask->empty() ? (*mask)[1] != 0 : given(smooth1) && given(smooth2);
}

// Returns the values for each row: there is one row for all of them, or one for each group.
static at::Tensor of_rows(const at::Tensor& values, const OptTensor& ends, int64_t rows) {
    const at::Tensor numbers = to_double(values);
    if (!ends) return numbers;
    return rows_of_groups(numbers.dim() == 1 ? numbers.unsqueeze(1) : numbers, *ends, rows);
}

static OptTensor ends_of(const OptTensor& groups, bool sizes) {
    if (!given(groups)) return std::nullopt;
    return sizes ? at::cumsum(groups->to(at::kLong), 0) : groups->to(at::kLong);
}

// Refuses values other than `features` of them for the rows of x, which broadcast to these or, with groups, have a row for each group.
static void require_of_rows(const char* name, const OptTensor& values, const OptTensor& groups, const at::Tensor& x, int64_t features) {
    if (!given(values)) return;
    if (!given(groups))
        return require_expected(name, *values, broadcasts_to(shape({c10::multiply_integers(x.sizes().slice(0, x.dim() - 1)), features})));
    if (values->dim() != 1 && (values->dim() != 2 || (values->size(1) != 1 && values->size(1) != features)))
        refuse(name, c10::str("a row of ", features, " values, or one value, for each group"), shape_text(values->sizes()));
}

// The outputs have the largest number of each row; a static quantisation does not write them.
static IfWanted<> scales_of_halves(const at::Tensor& x, std::string_view mode) {
    return if_wanted(mode == "dynamic", without_dim(x.sizes(), -1));
}

// Quantises statically, by scales and offsets, or dynamically, by the largest number of each row. The scale is what the numbers were
// multiplied by.
static void swiglu_quant(const at::Tensor& x, const OptTensor& smooth, const OptTensor& offsets, const OptTensor& ends, bool activate_left,
                         bool dynamic, const PackableTensor& y, at::Tensor& scale) {
    const at::Tensor rows = swiglu(to_double(x).flatten(0, -2), activate_left);
    at::Tensor numbers = given(smooth) ? rows * of_rows(*smooth, ends, rows.size(0)) : rows;
    if (!dynamic) {
        if (given(offsets)) numbers = numbers + of_rows(*offsets, ends, rows.size(0));
        return y.store(numbers.view(y.sizes()));
    }
    const DynamicallyQuantised result = quantise_rows(numbers, y.largest());
    y.store(result.numbers.view(y.sizes()));
    write(scale, 1 / result.scale);
}

// Returns the numbers that the quantised x represents.
static at::Tensor dequantised(const call::DequantSwigluQuant& a, const OptTensor& ends) {
    at::Tensor rows = to_double(a.x).flatten(0, -2);
    const int64_t count = rows.size(0);
    if (a.x.scalar_type() != at::kInt) return rows;
    const bool early = given(a.bias) && a.bias->scalar_type() == at::kInt;
    if (early) rows = rows + of_rows(*a.bias, ends, count);
    if (given(a.weightScale)) rows = rows * of_rows(*a.weightScale, ends, count);
    if (given(a.activationScale)) rows = rows * to_double(*a.activationScale).reshape({-1, 1});
    return given(a.bias) && !early ? rows + of_rows(*a.bias, ends, count) : rows;
}

static void compute(const call::AddRmsNormQuant& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, a.beta, a.epsilon);
    a.y1.store(scaled(normal, a.scales1, a.zeroPoints1, a.divMode));
    if (given(a.scales2)) a.y2.store(scaled(normal, *a.scales2, a.zeroPoints2, a.divMode));
    write(a.xOut, sum);
    write(a.rmsNormOut, normal);
}
static void compute(const call::AddRmsNormDynamicQuantV2& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, a.beta, a.epsilon);
    if (first_wanted(a.outputMask)) store_rows(times(normal, a.smoothScale1), a.y1, a.scale1);
    if (second_wanted(a.outputMask, a.smoothScale1, a.smoothScale2)) store_rows(times(normal, a.smoothScale2), a.y2, a.scale2);
    write(a.xOut, sum);
}
static void compute(const call::AddRmsNormDynamicQuant& a) {
    const at::Tensor sum = sum_of(a.x1, a.x2), normal = normalised(sum, a.gamma, std::nullopt, a.epsilon);
    store_rows(times(normal, a.smoothScale1), a.y1, a.scale1);
    if (given(a.smoothScale2)) store_rows(times(normal, a.smoothScale2), a.y2, a.scale2);
    write(a.xOut, sum);
}

// Without a mask the scales say which results are wanted.
static void check(const call::AddRmsNormDynamicQuantV2& a) {
    if (a.outputMask && !a.outputMask->empty()) return require_count("outputMask", a.outputMask->size(), 2, 0, 0);
    if (given(a.smoothScale2) && !given(a.smoothScale1))
        refuse_null("smoothScale1", "a tensor, as smoothScale2 is given without outputMask");
}

// An argument that is not used may be anything.
static void check(const call::SwiGluQuant& a) {
    const int64_t half = halved("x", a.x, -1).sizes.back();
    require_of_rows("smoothScales", a.smoothScales, a.groupIndex, a.x, half);
    if (a.quantMode != "dynamic") require_of_rows("offsets", a.offsets, a.groupIndex, a.x, half);
}
static void check(const call::DequantSwigluQuant& a) {
    require_bytes("y", a.y);
    const int64_t half = halved("x", a.x, -1).sizes.back();
    require_of_rows("quantScale", a.quantScale, a.groupIndex, a.x, half);
    if (a.quantMode != "dynamic") require_of_rows("quantOffset", a.quantOffset, a.groupIndex, a.x, half);
    if (a.x.scalar_type() != at::kInt) return;
    if (!given(a.weightScale)) refuse_null("weightScale", "a tensor, as x is INT32");
    require_of_rows("weightScale", a.weightScale, a.groupIndex, a.x, a.x.size(-1));
    require_of_rows("bias", a.bias, a.groupIndex, a.x, a.x.size(-1));
    const int64_t rows = c10::multiply_integers(a.x.sizes().slice(0, a.x.dim() - 1));
    if (given(a.activationScale)) require_expected("activationScale", *a.activationScale, elements(rows));
}
// swigluMode 1 pairs neighbours and limits them.
static void compute(const call::DequantSwigluQuant& a) {
    const OptTensor ends = ends_of(a.groupIndex, true);
    const at::Tensor x = dequantised(a, ends);
    at::Tensor rows = a.swigluMode == 1 ? swiglu_by_pairs(x, a.clampLimit, a.gluAlpha, a.gluBias) : swiglu(x, a.activateLeft);
    const at::Tensor scale = given(a.quantScale) ? of_rows(*a.quantScale, ends, rows.size(0)) : at::ones({}, at::kDouble);
    if (a.quantMode == "dynamic") return store_rows(rows * scale, a.y, a.scale);
    rows = rows / scale;
    if (given(a.quantOffset)) rows = rows + of_rows(*a.quantOffset, ends, rows.size(0));
    a.y.store(rows.view(a.y.sizes()));
}
