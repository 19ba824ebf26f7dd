// Products of matrices of which one has numbers of few bits, or both.

#include "engine/aten/matmul/matmul.h"
#include "vocabulary/matmul/quant_matmul_calls.h"

namespace torch_aclnn::host::aten {

at::Tensor exchanged(const at::Tensor& x, bool transpose) {
    return transpose ? x.transpose(-1, -2) : x;
}

std::vector<int64_t> exchanged(std::vector<int64_t> sizes, bool transpose) {
    if (transpose && sizes.size() > 1) std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return sizes;
}

void require_factors(const char* left_name, const std::vector<int64_t>& left, const char* right_name, const std::vector<int64_t>& right) {
    if (left.size() < 2) refuse(left_name, "at least 2 dimensions", shape_text(left));
    if (right.size() < 2) refuse(right_name, "at least 2 dimensions", shape_text(right));
    if (left.back() != right[right.size() - 2])
        refuse(right_name, c10::str(left.back(), " rows, as many as ", left_name, " has columns"), shape_text(right));
}

Expected product_shape(const std::vector<int64_t>& left, const std::vector<int64_t>& right) {
    Expected expected(left);
    expected.sizes.back() = right.back();
    if (right.size() > left.size())
        expected.sizes.insert(expected.sizes.begin(), right.begin(), right.begin() + static_cast<int64_t>(right.size() - left.size()));
    for (size_t d = 3; d <= std::min(left.size(), right.size()); d++) {  // d counts from the last dimension
        int64_t& size = expected.sizes[expected.sizes.size() - d];
        const int64_t other = right[right.size() - d];
        if (size != 1 && other != 1 && size != other) refuse("x2", c10::str(size, " matrices, as x1 has"), shape_text(right));
        if (size == 1) size = other;
    }
    return expected;
}

void require_integers(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2, const char* row_scale_name,
                      const OptTensor& row_scale) {
    if (x1.scalar_type() != at::kChar) refuse("x1", "a data type of INT8, INT4, INT32", c10::str(x1.scalar_type()));
    if (x1.has_four_bits() != x2.has_four_bits() || x2.scalar_type() != at::kChar)
        refuse("x2", c10::str("numbers of ", x1.has_four_bits() ? 4 : 8, " bits, as x1 has"), c10::str(x2.scalar_type()));
    require_factors("x1", exchanged(x1.sizes(), transpose1), "x2", exchanged(x2.sizes(), transpose2));
    if (given(row_scale) && row_scale->numel() != exchanged(x1.sizes(), transpose1).rbegin()[1])
        refuse(row_scale_name, "a number for each row of x1: the engine has no groups", shape_text(row_scale->sizes()));
}

}  // namespace torch_aclnn::host::aten

namespace {

Expected shape_of_product(const auto& a) {
    return product_shape(exchanged(a.x1.sizes(), a.transposeX1), exchanged(a.x2.sizes(), a.transposeX2));
}
// Multiplies integers exactly.
at::Tensor product(const auto& a) {
    return at::matmul(exchanged(to_double(a.x1.values()), a.transposeX1), exchanged(to_double(a.x2.values()), a.transposeX2));
}

// (x1 x2 + bias) scale scale_of_rows + offset, where a bias of integers comes before the scales, and any other behind them.
struct Scales {
    OptTensor of_columns, of_rows = {}, offset = {}, bias = {};
};

// Returns the number that aclnnTransQuantParamV2 adds to a scale's bits.
at::Tensor offset_in(const at::Tensor& scale) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(scale.contiguous().view(at::kLong), 37), 0x1FF);
    return to_double(at::bitwise_xor(bits, 0x100) - 0x100);
}

at::Tensor scaled_product(at::Tensor result, const Scales& by) {
    const bool early = given(by.bias) && at::isIntegralType(by.bias->scalar_type(), false);
    if (early) result = plus(result, by.bias);
    if (given(by.of_columns)) result = result * scale_values(*by.of_columns);
    if (given(by.of_rows)) result = result * to_double(*by.of_rows).flatten().unsqueeze(-1);
    return early ? result : plus(result, by.bias);
}

// Whether the blocks of factors of a low-precision floating-point type have powers of two as scales (MX).
bool has_mx_scales(const PackableTensor& x1, const at::Tensor& scale) {
    return x1.is_floating() && scale.dim() == 3 && scale.element_size() == 1;
}
at::Tensor floating_product(const call::QuantMatmulV5& a) {
    const at::Tensor left = exchanged(a.x1.values(), a.transposeX1), right = exchanged(a.x2.values(), a.transposeX2);
    if (has_mx_scales(a.x1, a.x2Scale)) return plus(mx_product(left, right, to_double(*a.x1Scale), to_double(a.x2Scale)), a.bias);
    const bool early = given(a.bias) && a.x2Scale.element_size() == 8;
    const at::Tensor product = plus(at::matmul(left, right), early ? a.bias : std::nullopt);
    return scaled_product(product, {a.x2Scale, a.x1Scale, {}, early ? std::nullopt : a.bias});
}
// The engine has neither groups of integers nor the product of numbers of eight bits by numbers of four, which has a formula of its own.
void check(const call::QuantMatmulV5& a) {
    require_not_given({{"yScale", a.yScale}, {"x1Offset", a.x1Offset}, {"yOffset", a.yOffset}});
    const bool mx = has_mx_scales(a.x1, a.x2Scale);
    if (mx)
        require_mx_groups(a.groupSize);
    else
        require_between("groupSize", a.groupSize, 0, 0);
    if (!a.x1.is_floating()) return require_integers(a.x1, a.x2, a.transposeX1, a.transposeX2, "x1Scale", a.x1Scale);
    if (!a.x2.is_floating()) refuse("x2", "a floating point type of few bits, as x1 has", c10::str(a.x2.scalar_type()));
    const std::vector<int64_t> left = exchanged(a.x1.sizes(), a.transposeX1), right = exchanged(a.x2.sizes(), a.transposeX2);
    require_factors("x1", left, "x2", right);
    if (!mx) return;
    if (left.size() != 2 || right.size() != 2) refuse("x1", "factors of 2 dimensions, as their blocks have scales", "others");
    if (!given(a.x1Scale)) refuse_null("x1Scale", "a tensor, as x2Scale has powers of two");
    require_expected("x1Scale", *a.x1Scale, mx_scales(left, -1));
    require_expected("x2Scale", a.x2Scale, mx_scales(right, -2));
}
void check_fused(const call::QuantMatmulV5& a) {
    require_not_given({{"yScale", a.yScale}, {"x1Offset", a.x1Offset}, {"x2Offset", a.x2Offset}, {"yOffset", a.yOffset}, {"x3", a.x3}});
    require_between("groupSize", a.groupSize, 0, 0);
    require_integers(a.x1, a.x2, false, false, "x1Scale", a.x1Scale);
}
BroadcastsTo scales_of_columns(const PackableTensor& x1, const at::Tensor& scale, const at::Tensor& out) {
    return broadcasts_to(has_mx_scales(x1, scale) ? scale : out);
}

void scale_product(const at::Tensor& product, const Scales& by, at::Tensor& out) {
    at::Tensor result = scaled_product(product, by);
    if (!given(by.offset) && given(by.of_columns) && by.of_columns->element_size() == 8 && out.scalar_type() == at::kChar)
        result = result + offset_in(*by.of_columns);
    write_rounded(out, plus(result, by.offset));
}

void check(const call::QuantMatmulReduceSumWeightNz& a) {
    require_not_given({{"yScale", a.yScale}, {"x1Offset", a.x1Offset}, {"x2Offset", a.x2Offset}, {"yOffset", a.yOffset}, {"bias", a.bias}});
    require_false("keepDims", a.keepDims);
    require_between("groupSize", a.groupSize, -1, 0);
    require_integers(a.x1, a.x2, a.transposeX1, a.transposeX2, "", std::nullopt);
    require_expected("x2", a.x2, shape({a.x1.sizes()[0], kAny, kAny}));
}
Expected without_last(std::vector<int64_t> sizes) {
    sizes.pop_back();
    return at::IntArrayRef(sizes);
}

Expected matrix_product(const at::Tensor& x1, bool turn1, const at::Tensor& x2, bool turn2) {
    const std::vector<int64_t> left = exchanged(x1.sizes().vec(), turn1), right = exchanged(x2.sizes().vec(), turn2);
    require_factors("x1", left, "x2", right);
    return product_shape(left, right);
}

}  // namespace

static void compute(const call::QuantMatmulV5& a) {
    if (a.x1.is_floating()) return write(a.out, floating_product(a));
    scale_product(product(a), {a.x2Scale, a.x1Scale, a.x2Offset, a.bias}, a.out);
}
static void multiply_with_gelu(const call::QuantMatmulV5& a) {
    const at::Tensor scaled = scaled_product(product(a), {a.x2Scale, a.x1Scale, std::nullopt, a.bias});
    write(a.out, at::gelu(scaled, a.fusedOpType == "gelu_tanh" ? "tanh" : "none"));
}
static void compute(const call::QuantMatmulReduceSumWeightNz& a) {
    const at::Tensor batches = product(a) * to_double(a.x1Scale).unsqueeze(-1);
    write(a.out, batches.sum(0) * to_double(a.x2Scale));
}
// The parameters have a scale and an offset for each column, or one for all, and may go on to the end of a block of 16.
static void check(const call::BatchMatmulQuant& a) {
    if (a.out.scalar_type() != at::kChar) refuse("out", "INT8", c10::str(a.out.scalar_type()));
    const int64_t columns = a.out.size(1), count = a.quantParam.numel();
    if (a.quantParam.element_size() != 8 || (count != 1 && count != columns && count != (columns + 15) / 16 * 16))
        refuse("quantParam", c10::str("1 or ", columns, " values of 64 bits"), shape_text(a.quantParam.sizes()));
}
static void compute(const call::BatchMatmulQuant& a) {
    const at::Tensor product = at::matmul(exchanged(to_double(a.x1), a.transposeX1), exchanged(to_double(a.x2), a.transposeX2));
    scale_product(plus(product, a.bias), {a.quantParam.narrow(0, 0, std::min(a.quantParam.numel(), a.out.size(-1)))}, a.out);
}
