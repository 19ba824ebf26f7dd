#include "extension/ops/adaptive_avg_pool.h"

namespace torch_aclnn {

void AdaptiveAvgPoolBackward::check_arguments(const char* op, int64_t plane_dims) const {
    const int64_t rank = static_cast<int64_t>(input_size.size());
    check_rank(op, "input_size", rank, plane_dims + 1, plane_dims + 2);
    check_countable(op, "input_size", input_size);
    check_rank(op, "grad_output", grad_output.dim(), rank, rank);
    check_dtype(op, {"grad_output", grad_output}, {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble});
    const c10::SymIntArrayRef sizes = grad_output.sym_sizes();
    c10::SmallVector<c10::SymInt, 5> expected(input_size.begin(), input_size.end() - plane_dims);
    expected.append(sizes.end() - plane_dims, sizes.end());
    check_size(op, "grad_output", sizes, expected, " by input_size");
    for (int64_t d = rank - plane_dims; d < rank; ++d)
        TORCH_SYM_CHECK(sizes[d].sym_ge(1), op, ": grad_output: expected at least one cell in dimension ", d, ", got ", sizes);
}

}  // namespace torch_aclnn
