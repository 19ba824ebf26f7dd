#include "extension/ops/padding.h"

namespace torch_aclnn {

void PaddingBackward::check_arguments(const char* op) const {
    const int64_t rank = static_cast<int64_t>(input_size.size());
    check_rank(op, "input_size", rank, 3, 4);
    check_countable(op, "input_size", input_size);
    check_rank(op, "grad_output", grad_output.dim(), rank, rank);
    check_length(op, "padding", padding.size(), {4});
    check_values(op, "padding", padding, INT32_MIN);
    check_dtype(op, {"grad_output", grad_output},
                {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kComplexFloat, at::kComplexDouble});
    c10::SmallVector<c10::SymInt, 4> expected(input_size.begin(), input_size.end());
    for (int64_t d = rank == 4 ? 1 : 0; d < rank; ++d)
        TORCH_SYM_CHECK(expected[d].sym_ge(1), op, ": input_size: expected no dimension of size 0 but N, got ", input_size);
    expected[rank - 2] += padding[2] + padding[3];
    expected[rank - 1] += padding[0] + padding[1];
    for (int64_t d = rank - 2; d < rank; ++d)
        TORCH_SYM_CHECK(expected[d].sym_ge(1), op, ": padding: expected a padded size of at least 1, got ", padding, " for ", input_size);
    check_size(op, "grad_output", grad_output.sym_sizes(), expected, " by input_size and padding");
}

}  // namespace torch_aclnn
