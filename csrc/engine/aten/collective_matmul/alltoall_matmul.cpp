// Matmuls before or after an all-to-all exchange between the ranks.

#include "engine/aten/collective_matmul/alltoall.h"
#include "vocabulary/collective_matmul/alltoall_matmul_calls.h"

static SharedProduct shared_product(const call::AlltoAllvGroupedMatMul& a) {
    return {a.mmX, a.mmWeight, a.mmY, a.transMmWeight};
}
static void prepare(OperationKind kind, const call::AlltoAllvGroupedMatMul& a) {
    prepare_experts(kind, a, a.gmmX, a.gmmWeight);
    require_shared(shared_product(a));
}
static at::Tensor products_of_experts(const call::AlltoAllvGroupedMatMul& a, const at::Tensor& rows, at::IntArrayRef counts) {
    const at::Tensor weight = turned_weight(a.gmmWeight, a.transGmmWeight);
    return by_each_expert(weight.size(0), counts, a.epWorldSize, [&](int64_t expert, int64_t first, int64_t number) {
        return at::matmul(upcast(rows.narrow(0, first, number)), upcast(weight[expert]));
    });
}
static void write_shared(const call::AlltoAllvGroupedMatMul& a) {
    if (given(a.mmX)) write(a.mmY, at::matmul(upcast(*a.mmX), upcast(turned_weight(*a.mmWeight, a.transMmWeight))));
}

static void compute(const call::AlltoAllMatmul& a) {
    const at::Tensor all = features_of_ranks(a.group, a.x1);
    write(a.output, product(all, turned_weight(a.x2, a.transposeX2), a.bias));
    if (given(a.alltoAllOut)) write(a.alltoAllOut, all);
}
static void compute(const call::AlltoAllvGroupedMatMul& a) {
    const at::Tensor rows = rows_for_experts(a, a.gmmX);
    write(a.gmmY, products_of_experts(a, rows, a.recvCounts));
    if (a.permuteOutFlag) write(a.permuteOut, rows);
    write_shared(a);
}
static void send_products(const call::AlltoAllvGroupedMatMul& a) {
    write(a.y, rows_for_ranks(a, products_of_experts(a, a.gmmX, a.sendCounts)));
    write_shared(a);
}
