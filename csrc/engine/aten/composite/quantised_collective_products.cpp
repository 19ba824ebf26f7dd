// Products of INT8 matrices, or by weights of INT8, whose operands or results are spread over ranks. Integers are multiplied exactly; what
// the ranks add is float32.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/collective_products.h"
#include "engine/aten/composite/expert_parallel.h"
#include "engine/aten/composite/quantised.h"
#include "engine/aten/composite/rms_norm.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;
using OptTensor = std::optional<at::Tensor>;

// (x1 x2 + bias) columns rows, where a bias of integers comes before the scales and another one behind.
struct ProductScales {
    OptTensor of_columns, of_rows;
};
at::Tensor scaled_product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const ProductScales& by) {
    const bool early = given(bias) && at::isIntegralType(bias->scalar_type(), false);
    at::Tensor result = at::matmul(to_double(x1), to_double(x2));
    if (early) result = result + to_double(*bias);
    if (given(by.of_columns)) result = result * scale_values(*by.of_columns).flatten();
    if (given(by.of_rows)) {
        at::DimVector rows(result.sizes());
        rows.back() = 1;
        result = result * to_double(*by.of_rows).reshape(rows);
    }
    return given(bias) && !early ? result + to_double(*bias) : result;
}
at::Tensor with_x3(const at::Tensor& result, const OptTensor& x3) {
    return (given(x3) ? result + to_double(*x3) : result).to(at::kFloat);
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
    if (columns->numel() != 1 && columns->numel() != x2.size(1))
        refuse(columns_name, c10::str("1 value, or ", x2.size(1), " as x2 has columns"), shape_text(columns->sizes()));
    if (given(rows) && rows->numel() != rows_of(x1))
        refuse(rows_name, c10::str(rows_of(x1), " values, as x1 has rows: the engine has no groups"), shape_text(rows->sizes()));
}

void require_none(std::initializer_list<std::pair<const char*, const OptTensor&>> tensors) {
    for (const auto& [name, tensor] : tensors) require_not_given(name, tensor);
}

void prepare_quantised_sum(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                           const OptTensor& columns, const OptTensor& rows, const at::Tensor& output) {
    require_factors(x1, x2, bias);
    require_scales(x1, x2, "dequantScale", columns, "pertokenScale", rows);
    group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

// The weight of integers: (x2 + offset) scale, where groups of its rows may have a scale each.
at::Tensor weight_of(const at::Tensor& x2, const at::Tensor& scale, const OptTensor& offset, int64_t group_size) {
    const auto of_each = [&](const at::Tensor& values) {
        if (group_size == 0) return to_double(values);
        return to_double(values).repeat_interleave(group_size, 0).narrow(0, 0, x2.size(0));
    };
    const at::Tensor numbers = to_double(x2);
    return (given(offset) ? numbers + of_each(*offset) : numbers) * of_each(scale);
}
at::Tensor weighted_product(const at::Tensor& x1, const at::Tensor& weight, const OptTensor& bias) {
    const at::Tensor result = at::matmul(to_double(x1), weight);
    return given(bias) ? result + to_double(*bias) : result;
}
void prepare_weight_sum(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const at::Tensor& scale,
                        int64_t group_size, const at::Tensor& output) {
    if (x2.scalar_type() != at::kChar) refuse("x2", "the data type INT8", c10::toString(x2.scalar_type()));
    require_shapes_of_factors(x1, x2, bias);
    const int64_t groups = group_size > 0 ? (x2.size(0) + group_size - 1) / group_size : 1;
    if (group_size > 0) require_expected("antiquantScale", scale, shape({groups, x2.size(1)}));
    if (group_size == 0 && scale.numel() != 1 && scale.numel() != x2.size(1))
        refuse("antiquantScale", c10::str("1 value, or ", x2.size(1), " as x2 has columns"), shape_text(scale.sizes()));
    group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

void prepare_scattered(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const OptTensor& rows,
                       const OptTensor& columns, const at::Tensor& output) {
    require_factors(x1, x2, bias);
    require_scales(x1, x2, "x2Scale", columns, "x1Scale", rows);
    if (x1.dim() != 2 || x1.size(0) % group->size() != 0)
        refuse("x1", c10::str("2 dimensions, and rows for ", group->size(), " ranks"), shape_text(x1.sizes()));
    group->set_record(OperationKind::matmul_reduce_scatter, output, HCCL_REDUCE_SUM);
}
void prepare_gathered(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const OptTensor& rows,
                      const OptTensor& columns) {
    require_factors(x1, x2, bias);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    require_scales(x1, x2, "x2Scale", columns, "x1Scale", rows);
    group->set_record(OperationKind::all_gather_matmul, x1, -1);
}

void prepare_quantised_columns(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                               const OptTensor& rows, const OptTensor& columns, const OptAxes& axes) {
    require_axes(axes, {-1, -2});
    require_factors(x1, x2, bias);
    require_scales(x1, x2, "x2Scale", columns, "x1Scale", rows);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    if (x2.size(1) % group->size() != 0) refuse("x2", c10::str("columns for ", group->size(), " ranks"), shape_text(x2.sizes()));
    group->set_record(OperationKind::matmul_all_to_all, x1, -1);
}

at::Tensor any_product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const ProductScales& by) {
    return x1.scalar_type() == at::kChar ? scaled_product(x1, x2, bias, by).to(at::kFloat) : product(x1, x2, bias);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
// What a scale is of.
using RowsMode = Between<int64_t, 3, 3>;
using ColumnsMode = Between<int64_t, 2, 2>;
using OrMinusOne = Between<int64_t, -1, kUnbounded>;
}  // namespace torch_aclnn::host::aten::kind

#define SUM_OF_RANKS (CommGroup, group), (ReduceOp, reduceOp)
#define TURN_AND_MODE (CommTurn, commTurn), (StreamMode, streamMode)
#define QUANTISED_FACTORS (In, x1), (In, x2), (OptIn, bias), (OptIn, x3, or_empty(shaped_like(output)))
#define SUM (Out, output, with_columns(x1.sizes().slice(0, x1.dim() - 1), x2))
#define WRITE_QUANTISED_SUM(columns, rows) write(output, group->all_reduce(with_x3(scaled_product(x1, x2, bias, {columns, rows}), x3)))
#define COMM_SCALES (OptIn, commQuantScale1), (OptIn, commQuantScale2)
#define NO_COMM_SCALES require_none({{"commQuantScale1", commQuantScale1}, {"commQuantScale2", commQuantScale2}})

ATEN_CHECKED_ENTRY(aclnnQuantMatmulAllReduce, INT8, prepare_quantised_sum(group, x1, x2, bias, dequantScale, std::nullopt, output),
                   QUANTISED_FACTORS, (In, dequantScale), SUM_OF_RANKS, TURN_AND_MODE, SUM) {
    WRITE_QUANTISED_SUM(dequantScale, std::nullopt);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulAllReduceV2, INT8, prepare_quantised_sum(group, x1, x2, bias, dequantScale, pertokenScale, output),
                   QUANTISED_FACTORS, (In, dequantScale), (OptIn, pertokenScale), SUM_OF_RANKS, TURN_AND_MODE, SUM) {
    WRITE_QUANTISED_SUM(dequantScale, pertokenScale);
}
// Integers travel between ranks in no version.
ATEN_CHECKED_ENTRY(aclnnQuantMatmulAllReduceV3, INT8,
                   (prepare_quantised_sum(group, x1, x2, bias, dequantScale, pertokenScale, output), NO_COMM_SCALES), QUANTISED_FACTORS,
                   (In, dequantScale), (OptIn, pertokenScale), COMM_SCALES, SUM_OF_RANKS, TURN_AND_MODE, SUM) {
    WRITE_QUANTISED_SUM(dequantScale, pertokenScale);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulAllReduceV4, INT8,
                   (prepare_quantised_sum(group, x1, x2, bias, dequantScale, pertokenScale, output), NO_COMM_SCALES), QUANTISED_FACTORS,
                   (OptIn, pertokenScale), (In, dequantScale), COMM_SCALES, SUM_OF_RANKS, TURN_AND_MODE, (Zero, groupSize),
                   (Zero, commQuantMode), SUM) {
    WRITE_QUANTISED_SUM(dequantScale, pertokenScale);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulAllReduceV5, INT8,
                   (prepare_quantised_sum(group, x1, x2, bias, dequantScale, pertokenScale, output), NO_COMM_SCALES), QUANTISED_FACTORS,
                   (OptIn, pertokenScale), (In, dequantScale), COMM_SCALES, SUM_OF_RANKS, (CommMode, commMode), TURN_AND_MODE,
                   (Zero, groupSize), (Zero, commQuantMode), SUM) {
    WRITE_QUANTISED_SUM(dequantScale, pertokenScale);
}

#define WEIGHT_AND_SCALE                                                                                                      \
    (In, x1), (In, x2), (OptIn, bias), (In, antiquantScale), (OptIn, antiquantOffset, or_empty(shaped_like(antiquantScale))), \
        (OptIn, x3, or_empty(shaped_like(output)))
#define PREPARE_WEIGHT_SUM prepare_weight_sum(group, x1, x2, bias, antiquantScale, antiquantGroupSize, output)
#define WRITE_WEIGHT_SUM \
    write(output,        \
          group->all_reduce(with_x3(weighted_product(x1, weight_of(x2, antiquantScale, antiquantOffset, antiquantGroupSize), bias), x3)))
ATEN_CHECKED_ENTRY(aclnnWeightQuantMatmulAllReduce, FLOAT16 | BF16, PREPARE_WEIGHT_SUM, WEIGHT_AND_SCALE, SUM_OF_RANKS, TURN_AND_MODE,
                   (Int32Count, antiquantGroupSize), SUM) {
    WRITE_WEIGHT_SUM;
}
ATEN_CHECKED_ENTRY(aclnnWeightQuantMatmulAllReduceV2, FLOAT16 | BF16, PREPARE_WEIGHT_SUM, WEIGHT_AND_SCALE, SUM_OF_RANKS,
                   (CommMode, commMode), TURN_AND_MODE, (Int32Count, antiquantGroupSize), SUM) {
    WRITE_WEIGHT_SUM;
}

// The sum of the ranks' products and the residual, and its normal by the root of the mean square. In place, the first takes the memory of
// the residual.
static Expected as_product(const char* name, const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& residual) {
    if (residual.dim() < 2 || residual.size(-1) != x2.size(1) || rows_of(residual) != rows_of(x1))
        refuse(name, c10::str(rows_of(x1), " rows of ", x2.size(1)), shape_text(residual.sizes()));
    return shaped_like(residual);
}
static void write_sum_and_normal(const at::Tensor& products, const at::Tensor& residual, const at::Tensor& gamma, double epsilon,
                                 const at::Tensor& y, const at::Tensor& normal) {
    const at::Tensor sum = products.view(residual.sizes()) + upcast(residual);
    write(normal, rms_normal(sum, gamma, epsilon).normal * upcast(gamma));
    write(y, sum);
}
#define SUM_AND_NORMAL(name, dtypes, prepare, products, factors, ...)                                                          \
    ATEN_CHECKED_ENTRY(aclnn##name, dtypes, prepare(y), factors, (In, residual, as_product("residual", x1, x2, residual)),     \
                       (In, gamma, shape({x2.size(1)})), (Double, epsilon), SUM_OF_RANKS, TURN_AND_MODE,                       \
                       __VA_ARGS__(Out, y, like(residual)), (Out, normOut, like(residual))) {                                  \
        write_sum_and_normal(group->all_reduce(products), residual, gamma, epsilon, y, normOut);                               \
    }                                                                                                                          \
    ATEN_CHECKED_ENTRY(aclnnInplace##name, dtypes, prepare(residualRef), factors,                                              \
                       (InOut, residualRef, as_product("residualRef", x1, x2, residualRef)), (In, gamma, shape({x2.size(1)})), \
                       (Double, epsilon), SUM_OF_RANKS, TURN_AND_MODE, __VA_ARGS__(Out, normOut, like(residualRef))) {         \
        write_sum_and_normal(group->all_reduce(products), residualRef, gamma, epsilon, residualRef, normOut);                  \
    }
#define PLAIN_FACTORS (In, x1), (In, x2), (OptIn, bias)
#define PREPARE_PLAIN(sum) (require_factors(x1, x2, bias), group->set_record(OperationKind::matmul_all_reduce, sum, HCCL_REDUCE_SUM))
#define PREPARE_INTEGERS(sum) prepare_quantised_sum(group, x1, x2, bias, dequantScale, std::nullopt, sum)
#define PREPARE_WEIGHT(sum) prepare_weight_sum(group, x1, x2, bias, antiquantScale, antiquantGroupSize, sum)
#define INTEGER_FACTORS PLAIN_FACTORS, (In, dequantScale)
#define WEIGHT_FACTORS PLAIN_FACTORS, (In, antiquantScale), (OptIn, antiquantOffset, or_empty(shaped_like(antiquantScale)))
#define INTEGER_PRODUCT with_x3(scaled_product(x1, x2, bias, {dequantScale, std::nullopt}), std::nullopt)
#define WEIGHT_PRODUCT weighted_product(x1, weight_of(x2, antiquantScale, antiquantOffset, antiquantGroupSize), bias).to(at::kFloat)
SUM_AND_NORMAL(MatmulAllReduceAddRmsNorm, FLOAT16 | BF16, PREPARE_PLAIN, product(x1, x2, bias), PLAIN_FACTORS)
SUM_AND_NORMAL(QuantMatmulAllReduceAddRmsNorm, INT8, PREPARE_INTEGERS, INTEGER_PRODUCT, INTEGER_FACTORS)
SUM_AND_NORMAL(WeightQuantMatmulAllReduceAddRmsNorm, FLOAT16 | BF16, PREPARE_WEIGHT, WEIGHT_PRODUCT, WEIGHT_FACTORS,
               (Int32Count, antiquantGroupSize), )

#define ANY_FACTORS (In, x1), (In, x2), (OptIn, bias), (OptIn, x1Scale), (OptIn, x2Scale), (OptIn, quantScale), (Zero, blockSize)
#define NOTHING_AROUND require_none({{"quantScale", quantScale}, {"amaxOut", amaxOut}})
ATEN_CHECKED_ENTRY(aclnnMatmulReduceScatterV2, FLOAT16 | BF16 | INT8,
                   (prepare_scattered(group, x1, x2, bias, x1Scale, x2Scale, output), NOTHING_AROUND), ANY_FACTORS, SUM_OF_RANKS,
                   TURN_AND_MODE, (Zero, groupSize), (CommMode, commMode), (Out, output, with_columns(x1.size(0) / group->size(), x2)),
                   (OptOut, amaxOut, any_shape())) {
    write(output, group->reduce_scatter(any_product(x1, x2, bias, {x2Scale, x1Scale})));
}
ATEN_CHECKED_ENTRY(aclnnAllGatherMatmulV2, FLOAT16 | BF16 | INT8, (prepare_gathered(group, x1, x2, bias, x1Scale, x2Scale), NOTHING_AROUND),
                   ANY_FACTORS, (CommGroup, group), (GatherIndex, gatherIndex), TURN_AND_MODE, (Zero, groupSize), (CommMode, commMode),
                   (Out, output, with_columns(rows_of_ranks(group, x1), x2)),
                   (OptOut, gatherOut, or_empty(shape({rows_of_ranks(group, x1), x1.size(1)}))), (OptOut, amaxOut, any_shape())) {
    const at::Tensor all = group->all_gather(x1.contiguous());
    const OptTensor scales = given(x1Scale) ? OptTensor(group->all_gather(x1Scale->reshape({-1, 1}))) : std::nullopt;
    write(output, any_product(all, x2, bias, {x2Scale, scales}));
    if (given(gatherOut)) write(gatherOut, all);
}

#define QUANTISED_COLUMNS(entry_point, ...)                                                                                          \
    ATEN_CHECKED_ENTRY(entry_point, INT8,                                                                                            \
                       (prepare_quantised_columns(group, x1, turned_weight(x2, transposeX2), bias, x1Scale, x2Scale, alltoAllAxes),  \
                        require_none({{"commScale", commScale}, {"x1Offset", x1Offset}, {"x2Offset", x2Offset}})),                   \
                       (In, x1), (In, x2), (OptIn, bias), (In, x1Scale), (In, x2Scale), (OptIn, commScale), (OptIn, x1Offset),       \
                       (OptIn, x2Offset), (OptInts, alltoAllAxes), (CommGroup, group), __VA_ARGS__(RowsMode, x1QuantMode),           \
                       (ColumnsMode, x2QuantMode), (Zero, commonQuantMode), (OrMinusOne, commQuantDtype), (Zero, groupSize),         \
                       (NotTransposed, transposeX1), (Bool, transposeX2),                                                            \
                       (Out, output, shape({x1.size(0) * group->size(), turned_weight(x2, transposeX2).size(1) / group->size()}))) { \
        const at::Tensor result = scaled_product(x1, turned_weight(x2, transposeX2), bias, {x2Scale, x1Scale}).to(at::kFloat);       \
        write(output, columns_of_rank(group, result));                                                                               \
    }
QUANTISED_COLUMNS(aclnnQuantMatmulAlltoAll)
QUANTISED_COLUMNS(aclnnQuantMatmulAlltoAllV2, (CommMode, commMode), )
