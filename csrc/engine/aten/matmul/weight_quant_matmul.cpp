// Matmuls of floating-point numbers with a weight of eight or four bits, and of floating-point numbers of eight bits.

#include "engine/aten/matmul/matmul.h"
#include "engine/aten/quantization/low_precision_floats.h"
#include "vocabulary/matmul/weight_quant_matmul_calls.h"

// The dequantised weight: (weight + offset) scale, where groups of rows may have a scale each.
static at::Tensor dequantised_weight(const call::WeightQuantBatchMatmulV2& a) {
    const at::Tensor numbers = to_double(a.weight.values());
    const auto of_each_row = [&](const at::Tensor& values) {
        if (a.antiquantGroupSize == 0) return to_double(values);
        const int64_t rows = numbers.size(-2);
        return to_double(values).repeat_interleave(std::min<int64_t>(a.antiquantGroupSize, rows), -2).narrow(-2, 0, rows);
    };
    return (given(a.antiquantOffset) ? numbers + of_each_row(*a.antiquantOffset) : numbers) * of_each_row(a.antiquantScale);
}

static BroadcastsTo scales_of(const call::WeightQuantBatchMatmulV2& a) {
    const int64_t group_size = a.antiquantGroupSize;
    std::vector<int64_t> sizes = a.weight.sizes();
    if (group_size == 0) return broadcasts_to(sizes);
    const int64_t groups = (a.x.size(-1) + group_size - 1) / group_size;
    if (a.antiquantScale.dim() < 2 || a.antiquantScale.size(-2) != groups)
        refuse("antiquantScale", c10::str(groups, " rows, one for each group"), shape_text(a.antiquantScale.sizes()));
    sizes[sizes.size() - 2] = groups;
    return broadcasts_to(sizes);
}
static void check(const call::WeightQuantBatchMatmulV2& a) {
    if (a.weight.scalar_type() != at::kChar) refuse("weight", "a data type of INT8, INT4, INT32", c10::str(a.weight.scalar_type()));
    require_factors("x", a.x.sizes().vec(), "weight", a.weight.sizes());
    if (!at::isFloatingType(a.antiquantScale.scalar_type()))
        refuse("antiquantScale", "a data type of FLOAT16, BF16, FLOAT", c10::str(a.antiquantScale.scalar_type()));
}

static void check(const call::QuantBatchMatmulInplaceAdd& a) {
    if (a.transposeX1 || a.transposeX2)
        refuse(a.transposeX1 ? "transposeX1" : "transposeX2", "false: a transposed factor has strides of its own", "true");
    require_mx_scale("x1Scale", a.x1Scale);
    require_mx_scale("x2Scale", a.x2Scale);
    require_factors("x1", a.x1.sizes(), "x2", a.x2.sizes());
    require_mx_groups(a.groupSize);
}

// Scales are for the rows of one factor and the columns of the other, of all batches.
static Expected permuted(const call::TransposeQuantBatchMatMul& a) {
    const at::Tensor left = a.x1.placeholder(), right = a.x2.placeholder();
    const Expected expected = multiplied_permuted(left, a.permX1, right, a.permX2, a.permY, a.batchSplitFactor);
    if (given(a.x1Scale)) require_expected("x1Scale", *a.x1Scale, shape({left.size(a.permX1[1])}));
    if (given(a.x2Scale)) require_expected("x2Scale", *a.x2Scale, shape({right.size(a.permX2[2])}));
    if (!a.x2.is_floating()) refuse("x2", "a floating point type of eight bits", c10::str(a.x2.scalar_type()));
    return expected;
}

static void compute(const call::WeightQuantBatchMatmulV2& a) {
    at::Tensor result = plus(at::matmul(to_double(a.x), dequantised_weight(a)), a.bias);
    if (given(a.quantScale)) result = result * scale_values(*a.quantScale);
    write_rounded(a.y, plus(result, a.quantOffset));
}
static void compute(const call::TransposeQuantBatchMatMul& a) {
    at::Tensor left = a.x1.values().permute(a.permX1), right = times(a.x2.values().permute(a.permX2), a.x2Scale);
    if (given(a.x1Scale)) left = left * to_double(*a.x1Scale).unsqueeze(1);
    write(a.out, permuted_product(left, right, a.batchSplitFactor));
}
