// Products of matrices whose operands or results are spread over ranks, as parallel layers have them. What the ranks add is float32, and
// the sum is rounded once.

#include "engine/aten/collective_matmul/collective_matmul.h"
#include "vocabulary/collective_matmul/collective_matmul_calls.h"

static void compute(const call::MatmulAllReduce& a) {
    const at::Tensor summand = product(a.x1, a.x2, a.bias);
    write(a.output, a.group->all_reduce(a.x3 ? summand + upcast(*a.x3) : summand));
}

static void compute(const call::AllGatherMatmul& a) {
    const at::Tensor all = a.group->all_gather(a.x1.contiguous());
    write(a.output, product(all, a.x2, a.bias));
    if (given(a.gatherOut)) write(a.gatherOut, all);
}
