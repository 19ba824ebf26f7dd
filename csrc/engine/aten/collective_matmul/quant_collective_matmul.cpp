// Products of INT8 matrices, or by weights of INT8, whose operands or results are spread over ranks. Integers are multiplied exactly; what
// the ranks add is float32.

#include "engine/aten/collective_matmul/collective_matmul.h"
#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/collective_matmul/quant_collective_matmul_calls.h"

namespace {

// (x1 x2 + bias) columns rows, where a bias of integers comes before the scales and any other behind them.
struct ProductScales {
    OptTensor of_columns, of_rows;
};
at::Tensor scaled_product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const ProductScales& by) {
    const bool early = given(bias) && at::isIntegralType(bias->scalar_type(), false);
    at::Tensor result = at::matmul(to_double(x1), to_double(x2));
    if (early) result = plus(result, bias);
    if (given(by.of_columns)) result = result * scale_values(*by.of_columns).flatten();
    if (given(by.of_rows)) result = result * to_double(*by.of_rows).reshape(with_size(result.sizes(), -1, 1).sizes);
    return early ? result : plus(result, bias);
}
at::Tensor with_x3(const at::Tensor& result, const OptTensor& x3) {
    return plus(result, x3).to(at::kFloat);
}

int64_t rows_of(const at::Tensor& x1) {
    return x1.numel() / std::max<int64_t>(x1.size(-1), 1);
}

void require_scales(const at::Tensor& x1, const at::Tensor& x2, const char* columns_name, const OptTensor& columns, const char* rows_name,
                    const OptTensor& rows) {
    if (x1.scalar_type() != at::kChar) {
        require_not_given(columns_name, columns);
        return require_not_given(rows_name, rows);
    }
    if (!given(columns)) refuse_null(columns_name, "a tensor, as x1 has integers");
    require_one_or(size_of(x2, -1), {{columns_name, columns->numel()}});
    if (given(rows)) require_expected(rows_name, *rows, elements(rows_of(x1)));
}

void prepare_quantised_sum(const auto& a, const OptTensor& rows, const at::Tensor& output) {
    require_same_type("x2", a.x2, "x1", a.x1);
    require_scales(a.x1, a.x2, "dequantScale", a.dequantScale, "pertokenScale", rows);
    a.group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

// Returns the product with a weight of integers, (x2 + offset) * scale. Each group of its rows may have a scale of its own.
at::Tensor weighted_product(const auto& a) {
    const auto of_each = [&](const at::Tensor& values) {
        if (a.antiquantGroupSize == 0) return to_double(values);
        return to_double(values).repeat_interleave(a.antiquantGroupSize, 0).narrow(0, 0, a.x2.size(0));
    };
    const at::Tensor numbers = to_double(a.x2);
    const at::Tensor weight = (given(a.antiquantOffset) ? numbers + of_each(*a.antiquantOffset) : numbers) * of_each(a.antiquantScale);
    return plus(at::matmul(to_double(a.x1), weight), a.bias);
}
void prepare_weight_sum(const auto& a, const at::Tensor& output) {
    const at::Tensor &x2 = a.x2, &scale = a.antiquantScale;
    const int64_t group_size = a.antiquantGroupSize;
    require_rank("x2", x2.sizes(), rank(2));
    if (group_size > 0) require_expected("antiquantScale", scale, shape({(x2.size(0) + group_size - 1) / group_size, x2.size(1)}));
    if (group_size == 0) require_one_or(x2.size(1), {{"antiquantScale", scale.numel()}});
    a.group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

// The sum of the ranks' products and the residual, and its normal by the root of the mean square. In place, the first takes the memory of
// the residual.
using SumAndNormal = call::MatmulAllReduceAddRmsNorm;
Expected as_product(const char* name, const SumAndNormal& a, const at::Tensor& residual) {
    if (residual.dim() < 2 || residual.size(-1) != a.x2.size(1) || rows_of(residual) != rows_of(a.x1))
        refuse(name, c10::str(rows_of(a.x1), " rows of ", a.x2.size(1)), shape_text(residual.sizes()));
    return shaped_like(residual);
}
const at::Tensor& sum_of(const SumAndNormal& a) {
    return a.y.defined() ? a.y : a.residualRef;
}
void write_sum_and_normal(const SumAndNormal& a, const at::Tensor& product) {
    const at::Tensor& residual = a.residual.defined() ? a.residual : a.residualRef;
    const at::Tensor sum = a.group->all_reduce(product).view(residual.sizes()) + upcast(residual);
    write(a.normOut, rms_normal(sum, a.gamma, a.epsilon).normal * upcast(a.gamma));
    write(sum_of(a), sum);
}

at::Tensor any_product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const ProductScales& by) {
    return x1.scalar_type() == at::kChar ? scaled_product(x1, x2, bias, by).to(at::kFloat) : product(x1, x2, bias);
}

void check(const call::QuantMatmulAlltoAll& a) {
    const at::Tensor x2 = turned_weight(a.x2, a.transposeX2);
    require_axes(a.alltoAllAxes, {-1, -2});
    require_same_type("x2", x2, "x1", a.x1);
    require_scales(a.x1, x2, "x2Scale", a.x2Scale, "x1Scale", a.x1Scale);
    require_parts("x2", x2.size(-1), *a.group);
    a.group->set_record(OperationKind::matmul_all_to_all, a.x1, -1);
    require_not_given({{"commScale", a.commScale}, {"x1Offset", a.x1Offset}, {"x2Offset", a.x2Offset}});
}

}  // namespace

static void compute(const call::QuantMatmulAllReduce& a) {
    const at::Tensor product = scaled_product(a.x1, a.x2, a.bias, {a.dequantScale, a.pertokenScale});
    write(a.output, a.group->all_reduce(with_x3(product, a.x3)));
}
static void multiply_gathered(const call::MatmulReduceScatterV2& a) {
    const at::Tensor all = a.group->all_gather(a.x1.contiguous());
    const OptTensor scales = given(a.x1Scale) ? OptTensor(a.group->all_gather(a.x1Scale->reshape({-1, 1}))) : std::nullopt;
    write(a.output, any_product(all, a.x2, a.bias, {a.x2Scale, scales}));
    if (given(a.gatherOut)) write(a.gatherOut, all);
}
static void compute(const call::QuantMatmulAlltoAll& a) {
    const at::Tensor result = scaled_product(a.x1, turned_weight(a.x2, a.transposeX2), a.bias, {a.x2Scale, a.x1Scale});
    write(a.output, columns_of_rank(a.group, result.to(at::kFloat)));
}
