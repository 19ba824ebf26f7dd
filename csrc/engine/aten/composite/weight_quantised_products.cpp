// Products of floating point numbers with a weight of eight or four bits, and of numbers that have so few bits themselves.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/few_bit_floats.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "quantisation"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// The dequantised weight: (weight + offset) scale, where groups of rows may have a scale each.
at::Tensor dequantised_weight(const PackableTensor& weight, const at::Tensor& scale, const std::optional<at::Tensor>& offset,
                              int64_t group_size) {
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

void multiply_by_quantised(const at::Tensor& x, const PackableTensor& weight, const at::Tensor& scale,
                           const std::optional<at::Tensor>& offset, const std::optional<at::Tensor>& quant_scale,
                           const std::optional<at::Tensor>& quant_offset, const std::optional<at::Tensor>& bias, int64_t group_size,
                           at::Tensor& y) {
    at::Tensor result = at::matmul(to_double(x), dequantised_weight(weight, scale, offset, group_size));
    if (given(bias)) result = result + to_double(*bias);
    if (given(quant_scale)) result = result * scale_values(*quant_scale);
    if (given(quant_offset)) result = result + to_double(*quant_offset);
    write_rounded(y, result);
}

void require_mx_product(const PackableTensor& x1, const PackableTensor& x2, const PackableTensor& scale1, const PackableTensor& scale2,
                        bool turn1, bool turn2) {
    if (turn1 || turn2) refuse(turn1 ? "transposeX1" : "transposeX2", "false: a transposed factor has strides of its own", "true");
    for (const PackableTensor* scale : {&scale1, &scale2}) require_mx_scale(scale == &scale1 ? "x1Scale" : "x2Scale", *scale);
    require_factors("x1", x1.sizes(), "x2", x2.sizes());
    if (x1.sizes().size() != 2 || x2.sizes().size() != 2) refuse("x1", "factors of 2 dimensions", "others");
    require_expected("x1Scale", scale1, mx_scales(x1.sizes(), -1));
    require_expected("x2Scale", scale2, mx_scales(x2.sizes(), -2));
}

// Scales for the rows of one factor and the columns of the other, of all batches.
struct PermutedScales {
    const std::optional<at::Tensor>&rows, &columns;

    Expected product(const PackableTensor& x1, at::IntArrayRef order1, const PackableTensor& x2, at::IntArrayRef order2,
                     at::IntArrayRef order, int64_t factor) const {
        const at::Tensor left = x1.placeholder(), right = x2.placeholder();
        const Expected expected = multiplied_permuted(left, order1, right, order2, order, factor);
        if (given(rows)) require_expected("x1Scale", *rows, shape({left.size(order1[1])}));
        if (given(columns)) require_expected("x2Scale", *columns, shape({right.size(order2[2])}));
        if (!x2.is_floating()) refuse("x2", "a floating point type of eight bits", c10::str(x2.scalar_type()));
        return expected;
    }
    at::Tensor by_rows(const at::Tensor& left) const { return given(rows) ? left * to_double(*rows).unsqueeze(1) : left; }
    at::Tensor by_columns(const at::Tensor& right) const { return given(columns) ? right * to_double(*columns) : right; }
};

}  // namespace

namespace torch_aclnn::host::aten::kind {
using GroupSize = Between<int, 0, std::numeric_limits<int>::max()>;
}  // namespace torch_aclnn::host::aten::kind

#define REQUIRE_WEIGHT                                                                                                     \
    (require_weight(x, weight, antiquantScale, antiquantGroupSize),                                                        \
     given(antiquantOffset) ? require_expected("antiquantOffset", *antiquantOffset, shaped_like(antiquantScale)) : void(), \
     require_of_product(product_shape(x.sizes().vec(), weight.sizes()),                                                    \
                        {{"quantScale", quantScale}, {"quantOffset", quantOffset}, {"bias", bias}}))

#define WEIGHT_QUANT_MATMUL(entry_point, Weight)                                                                                 \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16, REQUIRE_WEIGHT, (In, x), (Weight, weight), (In, antiquantScale),             \
                       (OptIn, antiquantOffset), (OptIn, quantScale), (OptIn, quantOffset), (OptIn, bias),                       \
                       (GroupSize, antiquantGroupSize), (Out, y, product_shape(x.sizes().vec(), weight.sizes()))) {              \
        multiply_by_quantised(x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, y); \
    }
WEIGHT_QUANT_MATMUL(aclnnWeightQuantBatchMatmulV2, Packable)
WEIGHT_QUANT_MATMUL(aclnnWeightQuantBatchMatmulNz, InBlocks)
ATEN_CHECKED_ENTRY(aclnnWeightQuantBatchMatmulV3, FLOAT16 | BF16, REQUIRE_WEIGHT, (In, x), (Packable, weight), (In, antiquantScale),
                   (OptIn, antiquantOffset), (OptIn, quantScale), (OptIn, quantOffset), (OptIn, bias), (GroupSize, antiquantGroupSize),
                   (Int, innerPrecise), (Out, y, product_shape(x.sizes().vec(), weight.sizes()))) {
    multiply_by_quantised(x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, y);
}

ATEN_CHECKED_ENTRY(aclnnQuantBatchMatmulInplaceAdd, ANY_FEW_BITS,
                   (require_mx_product(x1, x2, x1Scale, x2Scale, transposeX1, transposeX2), require_mx_groups(groupSize)), (FewBits, x1),
                   (FewBits, x2), (FewBits, x1Scale), (FewBits, x2Scale), (InOut, yRef, product_shape(x1.sizes(), x2.sizes())),
                   (Bool, transposeX1), (Bool, transposeX2), (Int, groupSize)) {
    write(yRef, to_double(yRef) + mx_product(x1.values(), x2.values(), x1Scale.values(), x2Scale.values()));
}

#define PERMUTED_FEW_BITS(entry_point, Weight)                                                                                        \
    ATEN_CHECKED_ENTRY(entry_point, EIGHT_BIT_FLOATS.without(FLOAT8_E8M0) | HIFLOAT8, require_not_given("bias", bias), (FewBits, x1), \
                       (Weight, x2), (OptIn, bias), (OptIn, x1Scale), (OptIn, x2Scale), (DType, dtype), (OnlyZero, groupSize),        \
                       (Exactly<3>, permX1), (Exactly<3>, permX2), (Exactly<3>, permY), (SplitFactor, batchSplitFactor),              \
                       (Out, out, (PermutedScales{x1Scale, x2Scale}.product(x1, permX1, x2, permX2, permY, batchSplitFactor)))) {     \
        const PermutedScales scales{x1Scale, x2Scale};                                                                                \
        const at::Tensor left = scales.by_rows(x1.values().permute(permX1)), right = scales.by_columns(x2.values().permute(permX2));  \
        write(out, permuted_product(left, right, batchSplitFactor));                                                                  \
    }
PERMUTED_FEW_BITS(aclnnTransposeQuantBatchMatMul, FewBits)
PERMUTED_FEW_BITS(aclnnTransposeQuantBatchMatMulWeightNz, InBlocks)
