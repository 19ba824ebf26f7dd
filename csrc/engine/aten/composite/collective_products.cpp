// Products of matrices whose operands or results are spread over ranks, as parallel layers have them. What the ranks add is float32, and
// the sum is rounded once.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/collective.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using Group = std::shared_ptr<Collective>;
using OptTensor = std::optional<at::Tensor>;

std::string_view read_sum(const char* name, const char* text) {
    return read_choice(name, text, {"sum"});
}

at::Tensor product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias) {
    const at::Tensor result = at::matmul(upcast(x1), upcast(x2));
    return bias && bias->numel() > 0 ? result + upcast(*bias) : result;
}

void require_factors(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias) {
    if (x1.dim() < 2) refuse("x1", "at least 2 dimensions", shape_text(x1.sizes()));
    if (x2.dim() != 2 || x2.size(0) != x1.size(-1))
        refuse("x2", c10::str("2 dimensions, and ", x1.size(-1), " rows like the columns of x1"), shape_text(x2.sizes()));
    if (x2.scalar_type() != x1.scalar_type())
        refuse("x2", c10::str("the data type of x1, ", x1.scalar_type()), c10::toString(x2.scalar_type()));
    if (bias && bias->numel() > 0 && bias->sizes() != at::IntArrayRef{x2.size(1)})
        refuse("bias", c10::str("shape [", x2.size(1), "]"), shape_text(bias->sizes()));
}

// A result has the columns of x2 and so many rows, or the leading dimensions of x1.
Expected with_columns(at::IntArrayRef rows, const at::Tensor& x2) {
    Expected expected(rows);
    expected.sizes.push_back(x2.size(1));
    return expected;
}
int64_t rows_of_ranks(const Group& group, const at::Tensor& x1) {
    int64_t rows = 0;
    if (__builtin_mul_overflow(x1.size(0), int64_t{group->size()}, &rows)) refuse("x1", "fewer than 2^63 rows", shape_text(x1.sizes()));
    return rows;
}

void prepare_all_reduce(const Group& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias, const at::Tensor& output) {
    require_factors(x1, x2, bias);
    group->set_record(OperationKind::matmul_all_reduce, output, HCCL_REDUCE_SUM);
}

void prepare_reduce_scatter(const Group& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                            const at::Tensor& output) {
    require_factors(x1, x2, bias);
    if (x1.dim() != 2 || x1.size(0) % group->size() != 0)
        refuse("x1", c10::str("2 dimensions, and rows for ", group->size(), " ranks"), shape_text(x1.sizes()));
    group->set_record(OperationKind::matmul_reduce_scatter, output, HCCL_REDUCE_SUM);
}

bool wanted(const OptTensor& gather_out) {
    return gather_out && gather_out->numel() > 0;
}

void prepare_all_gather(const Group& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias) {
    require_factors(x1, x2, bias);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    group->set_record(OperationKind::all_gather_matmul, x1, -1);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using ReduceOp = Kind<const char*, std::string_view, std::string_view, read_sum>;
// Parameters for which the documents allow one value.
using GatherIndex = Between<int64_t, 0, 0>;
using CommTurn = Between<int64_t, 0, 0>;
using StreamMode = Between<int64_t, 1, 1>;  // stop on failure
}  // namespace torch_aclnn::host::aten::kind

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
