// Products of matrices before or behind an exchange of each rank with each other.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/exchanges.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;
using OptTensor = std::optional<at::Tensor>;

void prepare_gathered_features(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                               const OptAxes& axes) {
    require_rows_for_ranks(group, x1, axes);
    require_factors(x1, x2, bias, group->size());
    group->set_record(OperationKind::all_to_all_matmul, x1, -1);
}
void prepare_scattered_columns(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                               const OptAxes& axes) {
    require_axes(axes, {-1, -2});
    require_factors(x1, x2, bias);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    if (x2.size(1) % group->size() != 0) refuse("x2", c10::str("columns for ", group->size(), " ranks"), shape_text(x2.sizes()));
    group->set_record(OperationKind::matmul_all_to_all, x1, -1);
}

at::Tensor products_of_experts(const at::Tensor& rows, const at::Tensor& weight, at::IntArrayRef counts, int64_t ranks) {
    return by_each_expert(weight.size(0), counts, ranks, [&](int64_t expert, int64_t first, int64_t number) {
        return at::matmul(upcast(rows.narrow(0, first, number)), upcast(weight[expert]));
    });
}

void write_shared(const SharedProduct& shared) {
    if (given(shared.x)) write(shared.y, at::matmul(upcast(*shared.x), upcast(turned_weight(*shared.weight, shared.transpose))));
}

}  // namespace

#define GATHERED_FEATURES(entry_point, ...)                                                                                             \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16,                                                                                     \
                       prepare_gathered_features(group, x1, turned_weight(x2, transposeX2), bias, alltoAllAxes), (In, x1), (In, x2),    \
                       (OptIn, bias), (OptInts, alltoAllAxes), (CommGroup, group), __VA_ARGS__(NotTransposed, transposeX1),             \
                       (Bool, transposeX2), (Out, output, shape({x1.size(0) / group->size(), turned_weight(x2, transposeX2).size(1)})), \
                       (OptOut, alltoAllOut, or_empty(shape({x1.size(0) / group->size(), x1.size(1) * group->size()})))) {              \
        const at::Tensor all = features_of_ranks(group, x1);                                                                            \
        write(output, product(all, turned_weight(x2, transposeX2), bias));                                                              \
        if (given(alltoAllOut)) write(alltoAllOut, all);                                                                                \
    }
GATHERED_FEATURES(aclnnAlltoAllMatmul)
GATHERED_FEATURES(aclnnAlltoAllMatmulV2, (CommMode, commMode), )

#define SCATTERED_COLUMNS(entry_point, ...)                                                                                                \
    ATEN_CHECKED_ENTRY(                                                                                                                    \
        entry_point, FLOAT16 | BF16, prepare_scattered_columns(group, x1, turned_weight(x2, transposeX2), bias, alltoAllAxes), (In, x1),   \
        (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (CommGroup, group), __VA_ARGS__(NotTransposed, transposeX1),                     \
        (Bool, transposeX2), (Out, output, shape({x1.size(0) * group->size(), turned_weight(x2, transposeX2).size(1) / group->size()}))) { \
        write(output, columns_of_rank(group, product(x1, turned_weight(x2, transposeX2), bias)));                                          \
    }
SCATTERED_COLUMNS(aclnnMatmulAlltoAll)
SCATTERED_COLUMNS(aclnnMatmulAlltoAllV2, (CommMode, commMode), )

#define EXPERT_OPERANDS \
    (In, gmmX), (In, gmmWeight), (OptIn, sendCountsTensor), (OptIn, recvCountsTensor), (OptIn, mmX), (OptIn, mmWeight), (CommGroup, group)
#define EXPERT_COUNTS (Positive, epWorldSize), (Ints, sendCounts), (Ints, recvCounts), (Bool, transGmmWeight), (Bool, transMmWeight)
#define REQUIRE_EXPERTS(kind)                                                                                                            \
    (prepare_experts(OperationKind::kind, group, gmmX, gmmWeight, transGmmWeight, epWorldSize, sendCounts, recvCounts, sendCountsTensor, \
                     recvCountsTensor),                                                                                                  \
     require_shared({mmX, mmWeight, mmY, transMmWeight}))
#define SHARED_RESULT (OptOut, mmY, shared_shape({mmX, mmWeight, mmY, transMmWeight}))
#define ROWS_AND_EXPERTS(entry_point, ...)                                                                             \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16, REQUIRE_EXPERTS(all_to_all_v_grouped_matmul), EXPERT_OPERANDS,     \
                       __VA_ARGS__ EXPERT_COUNTS, (Bool, permuteOutFlag),                                              \
                       (Out, gmmY, shape({total(recvCounts), gmmWeight.size(transGmmWeight ? 1 : 2)})), SHARED_RESULT, \
                       (OptOut, permuteOut, if_wanted(permuteOutFlag, shape({total(recvCounts), gmmX.size(1)})))) {    \
        const at::Tensor rows = rows_for_experts(group, gmmX, sendCounts, recvCounts, gmmWeight.size(0));              \
        write(gmmY, products_of_experts(rows, turned_weight(gmmWeight, transGmmWeight), recvCounts, epWorldSize));     \
        if (permuteOutFlag) write(permuteOut, rows);                                                                   \
        write_shared({mmX, mmWeight, mmY, transMmWeight});                                                             \
    }
ROWS_AND_EXPERTS(aclnnAlltoAllvGroupedMatMul)
ROWS_AND_EXPERTS(aclnnAlltoAllvGroupedMatMulV2, (CommMode, commMode), )

#define EXPERTS_AND_ROWS(entry_point, ...)                                                                                        \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16, REQUIRE_EXPERTS(grouped_matmul_all_to_all_v), EXPERT_OPERANDS,                \
                       __VA_ARGS__ EXPERT_COUNTS, (Out, y, shape({total(recvCounts), gmmWeight.size(transGmmWeight ? 1 : 2)})),   \
                       SHARED_RESULT) {                                                                                           \
        const at::Tensor products = products_of_experts(gmmX, turned_weight(gmmWeight, transGmmWeight), sendCounts, epWorldSize); \
        write(y, rows_for_ranks(group, products, sendCounts, recvCounts, gmmWeight.size(0)));                                     \
        write_shared({mmX, mmWeight, mmY, transMmWeight});                                                                        \
    }
EXPERTS_AND_ROWS(aclnnGroupedMatMulAlltoAllv)
EXPERTS_AND_ROWS(aclnnGroupedMatMulAlltoAllvV2, (CommMode, commMode), )
