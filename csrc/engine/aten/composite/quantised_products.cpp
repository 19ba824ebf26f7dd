// Products of matrices of which one has numbers of few bits, or both.
#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "quantisation"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

at::Tensor turned(const at::Tensor& x, bool transpose) {
    return transpose ? x.transpose(-1, -2) : x;
}

std::vector<int64_t> turned(std::vector<int64_t> sizes, bool transpose) {
    if (transpose && sizes.size() > 1) std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return sizes;
}

void require_factors(const char* left_name, const std::vector<int64_t>& left, const char* right_name, const std::vector<int64_t>& right) {
    if (left.size() < 2) refuse(left_name, "at least 2 dimensions", shape_text(at::IntArrayRef(left)));
    if (right.size() < 2) refuse(right_name, "at least 2 dimensions", shape_text(at::IntArrayRef(right)));
    if (left.back() != right[right.size() - 2])
        refuse(right_name, c10::str(left.back(), " rows, as many as ", left_name, " has columns"), shape_text(at::IntArrayRef(right)));
}

// The rows of one and the columns of the other, of each of a batch.
Expected product_shape(const std::vector<int64_t>& left, const std::vector<int64_t>& right) {
    Expected expected(left);
    expected.sizes.back() = right.back();
    if (right.size() > left.size())
        expected.sizes.insert(expected.sizes.begin(), right.begin(), right.begin() + static_cast<int64_t>(right.size() - left.size()));
    for (size_t d = 3; d <= std::min(left.size(), right.size()); d++) {  // from the last
        int64_t& size = expected.sizes[expected.sizes.size() - d];
        const int64_t other = right[right.size() - d];
        if (size != 1 && other != 1 && size != other)
            refuse("x2", c10::str(size, " matrices, as x1 has"), shape_text(at::IntArrayRef(right)));
        if (size == 1) size = other;
    }
    return expected;
}

// Integers times integers, exactly.
at::Tensor product(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2) {
    return at::matmul(turned(to_double(x1.values()), transpose1), turned(to_double(x2.values()), transpose2));
}

// (x1 x2 + bias) scale scale_of_rows + offset, where a bias of integers comes before the scales, and another one behind.
struct Scales {
    std::optional<at::Tensor> of_columns, of_rows, offset, bias;
};

// The number that aclnnTransQuantParamV2 adds to a scale's bits.
at::Tensor offset_in(const at::Tensor& scale) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(scale.contiguous().view(at::kLong), 37), 0x1FF);
    return to_double(at::bitwise_xor(bits, 0x100) - 0x100);
}

void scale_product(at::Tensor result, const Scales& by, at::Tensor& out) {
    const bool early = given(by.bias) && at::isIntegralType(by.bias->scalar_type(), false);
    if (early) result = result + to_double(*by.bias);
    if (given(by.of_columns)) result = result * scale_values(*by.of_columns);
    if (given(by.of_rows)) result = result * to_double(*by.of_rows).unsqueeze(-1);
    if (given(by.bias) && !early) result = result + to_double(*by.bias);
    if (given(by.offset)) {
        result = result + to_double(*by.offset);
    } else if (given(by.of_columns) && by.of_columns->element_size() == 8 && out.scalar_type() == at::kChar) {
        result = result + offset_in(*by.of_columns);
    }
    write_rounded(out, result);
}

void require_integers(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2, const char* row_scale_name,
                      const std::optional<at::Tensor>& row_scale) {
    if (x1.scalar_type() != at::kChar) refuse("x1", "a data type of INT8, INT4, INT32", c10::str(x1.scalar_type()));
    if (x1.has_four_bits() != x2.has_four_bits() || x2.scalar_type() != at::kChar)
        refuse("x2", c10::str("numbers of ", x1.has_four_bits() ? 4 : 8, " bits, as x1 has"), c10::str(x2.scalar_type()));
    require_factors("x1", turned(x1.sizes(), transpose1), "x2", turned(x2.sizes(), transpose2));
    if (given(row_scale) && row_scale->numel() != turned(x1.sizes(), transpose1).rbegin()[1])
        refuse(row_scale_name, "a number for each row of x1: the engine has no groups", shape_text(row_scale->sizes()));
}

// The dequantised weight: (weight + offset) scale, where groups of rows may have a scale each.
at::Tensor dequantised(const PackableTensor& weight, const at::Tensor& scale, const std::optional<at::Tensor>& offset, int64_t group_size) {
    const at::Tensor numbers = to_double(weight.values());
    const auto of_each_row = [&](const at::Tensor& values) {
        if (group_size == 0) return to_double(values);
        return to_double(values).repeat_interleave(std::min(group_size, numbers.size(-2)), -2).narrow(-2, 0, numbers.size(-2));
    };
    return (given(offset) ? numbers + of_each_row(*offset) : numbers) * of_each_row(scale);
}

void require_weight(const at::Tensor& x, const PackableTensor& weight, const at::Tensor& scale, int64_t group_size) {
    if (weight.scalar_type() != at::kChar) refuse("weight", "a data type of INT8, INT4, INT32", c10::str(weight.scalar_type()));
    require_factors("x", x.sizes().vec(), "weight", weight.sizes());
    if (!at::isFloatingType(scale.scalar_type()))
        refuse("antiquantScale", "a data type of FLOAT16, BF16, FLOAT", c10::str(scale.scalar_type()));
    if (group_size == 0) return require_expected("antiquantScale", scale, broadcasts_to(weight.sizes()));
    const int64_t groups = (x.size(-1) + group_size - 1) / group_size;
    if (scale.dim() < 2 || scale.size(-2) != groups)
        refuse("antiquantScale", c10::str(groups, " rows, one for each group"), shape_text(scale.sizes()));
    std::vector<int64_t> sizes = weight.sizes();
    sizes[sizes.size() - 2] = groups;
    require_expected("antiquantScale", scale, broadcasts_to(sizes));
}

// What is added to the product, or multiplies it.
void require_of_product(const Expected& product,
                        std::initializer_list<std::pair<const char*, const std::optional<at::Tensor>&>> parameters) {
    for (const auto& [name, tensor] : parameters) require_broadcast(name, tensor, product.sizes);
}

void multiply_by_quantised(const at::Tensor& x, const PackableTensor& weight, const at::Tensor& scale,
                           const std::optional<at::Tensor>& offset, const std::optional<at::Tensor>& quant_scale,
                           const std::optional<at::Tensor>& quant_offset, const std::optional<at::Tensor>& bias, int64_t group_size,
                           at::Tensor& y) {
    at::Tensor result = at::matmul(to_double(x), dequantised(weight, scale, offset, group_size));
    if (given(bias)) result = result + to_double(*bias);
    if (given(quant_scale)) result = result * scale_values(*quant_scale);
    if (given(quant_offset)) result = result + to_double(*quant_offset);
    write_rounded(y, result);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using GroupSize = Between<int, 0, std::numeric_limits<int>::max()>;
}  // namespace torch_aclnn::host::aten::kind

#define PRODUCT product_shape(turned(x1.sizes(), transposeX1), turned(x2.sizes(), transposeX2))
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV3, INT8 | INT4 | INT32,
                   (require_integers(x1, x2, transposeX1, transposeX2, "", std::nullopt),
                    require_of_product(PRODUCT, {{"offset", offset}, {"bias", bias}})),
                   (Packable, x1), (Packable, x2), (In, scale, broadcasts_to(out)), (OptIn, offset), (OptIn, bias), (Bool, transposeX1),
                   (Bool, transposeX2), (Out, out, PRODUCT)) {
    scale_product(product(x1, x2, transposeX1, transposeX2), {scale, std::nullopt, offset, bias}, out);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV4, INT8 | INT4 | INT32,
                   (require_integers(x1, x2, transposeX1, transposeX2, "pertokenScale", pertokenScale),
                    require_of_product(PRODUCT, {{"offset", offset}, {"bias", bias}})),
                   (Packable, x1), (Packable, x2), (In, scale, broadcasts_to(out)), (OptIn, offset), (OptIn, pertokenScale), (OptIn, bias),
                   (Bool, transposeX1), (Bool, transposeX2), (Out, out, PRODUCT)) {
    scale_product(product(x1, x2, transposeX1, transposeX2), {scale, pertokenScale, offset, bias}, out);
}
// Numbers of eight bits by numbers of four have a formula of their own; the engine has not got it, nor groups.
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV5, INT8 | INT4 | INT32,
                   (require_not_given("yScale", yScale), require_not_given("x1Offset", x1Offset), require_not_given("yOffset", yOffset),
                    require_between("groupSize", groupSize, 0, 0), require_integers(x1, x2, transposeX1, transposeX2, "x1Scale", x1Scale),
                    require_of_product(PRODUCT, {{"x2Offset", x2Offset}, {"bias", bias}})),
                   (Packable, x1), (Packable, x2), (OptIn, x1Scale), (In, x2Scale, broadcasts_to(out)), (OptIn, yScale), (OptIn, x1Offset),
                   (OptIn, x2Offset), (OptIn, yOffset), (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2), (Int, groupSize),
                   (Out, out, PRODUCT)) {
    scale_product(product(x1, x2, transposeX1, transposeX2), {x2Scale, x1Scale, x2Offset, bias}, out);
}

#define REQUIRE_WEIGHT                                                                                                     \
    (require_weight(x, weight, antiquantScale, antiquantGroupSize),                                                        \
     given(antiquantOffset) ? require_expected("antiquantOffset", *antiquantOffset, shaped_like(antiquantScale)) : void(), \
     require_of_product(product_shape(x.sizes().vec(), weight.sizes()),                                                    \
                        {{"quantScale", quantScale}, {"quantOffset", quantOffset}, {"bias", bias}}))

ATEN_CHECKED_ENTRY(aclnnWeightQuantBatchMatmulV2, FLOAT16 | BF16, REQUIRE_WEIGHT, (In, x), (Packable, weight), (In, antiquantScale),
                   (OptIn, antiquantOffset), (OptIn, quantScale), (OptIn, quantOffset), (OptIn, bias), (GroupSize, antiquantGroupSize),
                   (Out, y, product_shape(x.sizes().vec(), weight.sizes()))) {
    multiply_by_quantised(x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, y);
}
ATEN_CHECKED_ENTRY(aclnnWeightQuantBatchMatmulV3, FLOAT16 | BF16, REQUIRE_WEIGHT, (In, x), (Packable, weight), (In, antiquantScale),
                   (OptIn, antiquantOffset), (OptIn, quantScale), (OptIn, quantOffset), (OptIn, bias), (GroupSize, antiquantGroupSize),
                   (Int, innerPrecise), (Out, y, product_shape(x.sizes().vec(), weight.sizes()))) {
    multiply_by_quantised(x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, y);
}
