// Products of matrices whose operands or results are spread over ranks, as parallel layers have them. What the ranks add is float32, and
// the sum is rounded once.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/collective.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/collective_products.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;

void prepare_all_reduce(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                        const at::Tensor& output) {
    require_factors(x1, x2, bias);
    group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

void prepare_reduce_scatter(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                            const at::Tensor& output) {
    require_factors(x1, x2, bias);
    if (x1.dim() != 2 || x1.size(0) % group->size() != 0)
        refuse("x1", c10::str("2 dimensions, and rows for ", group->size(), " ranks"), shape_text(x1.sizes()));
    group->set_record(OperationKind::matmul_reduce_scatter, output, HCCL_REDUCE_SUM);
}

bool wanted(const OptTensor& gather_out) {
    return gather_out && gather_out->numel() > 0;
}

void prepare_all_gather(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias) {
    require_factors(x1, x2, bias);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    group->set_record(OperationKind::all_gather_matmul, x1, -1);
}

}  // namespace

ATEN_CHECKED_ENTRY(aclnnMatmulAllReduce, FLOAT16 | BF16, prepare_all_reduce(group, x1, x2, bias, output), (In, x1), (In, x2), (OptIn, bias),
                   (CommGroup, group), (ReduceOp, reduceOp), (CommTurn, commTurn), (StreamMode, streamMode),
                   (Out, output, with_columns(x1.sizes().slice(0, x1.dim() - 1), x2))) {
    write(output, group->all_reduce(product(x1, x2, bias)));
}
ATEN_CHECKED_ENTRY(aclnnMatmulAllReduceV2, FLOAT16 | BF16, prepare_all_reduce(group, x1, x2, bias, output), (In, x1), (In, x2),
                   (OptIn, bias), (OptIn, x3, shaped_like(output)), (CommGroup, group), (ReduceOp, reduceOp), (CommTurn, commTurn),
                   (StreamMode, streamMode), (Out, output, with_columns(x1.sizes().slice(0, x1.dim() - 1), x2))) {
    const at::Tensor summand = product(x1, x2, bias);
    write(output, group->all_reduce(x3 ? summand + upcast(*x3) : summand));
}

ATEN_CHECKED_ENTRY(aclnnMatmulAllReduceV3, FLOAT16 | BF16, prepare_all_reduce(group, x1, x2, bias, output), (In, x1), (In, x2),
                   (OptIn, bias), (OptIn, x3, shaped_like(output)), (CommGroup, group), (ReduceOp, reduceOp), (CommMode, commMode),
                   (CommTurn, commTurn), (StreamMode, streamMode), (Out, output, with_columns(x1.sizes().slice(0, x1.dim() - 1), x2))) {
    const at::Tensor summand = product(x1, x2, bias);
    write(output, group->all_reduce(x3 ? summand + upcast(*x3) : summand));
}

ATEN_CHECKED_ENTRY(aclnnMatmulReduceScatter, FLOAT16 | BF16, prepare_reduce_scatter(group, x1, x2, bias, output), (In, x1), (In, x2),
                   (OptIn, bias), (CommGroup, group), (ReduceOp, reduceOp), (CommTurn, commTurn), (StreamMode, streamMode),
                   (Out, output, with_columns(x1.size(0) / group->size(), x2))) {
    write(output, group->reduce_scatter(product(x1, x2, bias)));
}

ATEN_CHECKED_ENTRY(aclnnAllGatherMatmul, FLOAT16 | BF16, prepare_all_gather(group, x1, x2, bias), (In, x1), (In, x2), (OptIn, bias),
                   (CommGroup, group), (GatherIndex, gatherIndex), (CommTurn, commTurn), (StreamMode, streamMode),
                   (Out, output, with_columns(rows_of_ranks(group, x1), x2)),
                   (OptOut, gatherOut, or_empty(shape({rows_of_ranks(group, x1), x1.size(1)})))) {
    const at::Tensor all = group->all_gather(x1.contiguous());
    write(output, product(all, x2, bias));
    if (wanted(gatherOut)) write(gatherOut, all);
}
