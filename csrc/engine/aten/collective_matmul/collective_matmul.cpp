// Products of matrices whose operands or results are spread over ranks, as parallel layers have them. What the ranks add is float32, and
// the sum is rounded once.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/collective_matmul/collective.h"
#include "engine/aten/collective_matmul/collective_matmul.h"
#include "engine/aten/numerics/results.h"
#include "vocabulary/collective_matmul/collective_matmul_calls.h"

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

static void compute(const call::MatmulAllReduce& a) {
    const at::Tensor summand = product(a.x1, a.x2, a.bias);
    write(a.output, a.group->all_reduce(a.x3 ? summand + upcast(*a.x3) : summand));
}

static void compute(const call::AllGatherMatmul& a) {
    const at::Tensor all = a.group->all_gather(a.x1.contiguous());
    write(a.output, product(all, a.x2, a.bias));
    if (wanted(a.gatherOut)) write(a.gatherOut, all);
}

#include "vocabulary/collective_matmul/collective_matmul_rows.inc"
