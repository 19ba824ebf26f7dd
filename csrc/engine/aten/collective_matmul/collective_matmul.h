// Products of matrices whose operands or results are spread over ranks: what their operands must be, and their attributes.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/adapter/collective.h"
#include "engine/aten/adapter/expected.h"
#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

inline at::Tensor product(const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias) {
    const at::Tensor result = at::matmul(upcast(x1), upcast(x2));
    return bias && bias->numel() > 0 ? result + upcast(*bias) : result;
}

// The right factor of a matmul whose left factor has `columns` columns.
inline Expected factor_of(int64_t columns, bool transpose) {
    return transpose ? shape({kAny, columns}) : shape({columns, kAny});
}

// A result with the columns of x2, and these rows or the leading dimensions of x1.
inline Expected with_columns(at::IntArrayRef rows, const at::Tensor& x2) {
    Expected expected(rows);
    expected.sizes.push_back(x2.size(1));
    return expected;
}
inline int64_t rows_of_ranks(const RanksGroup& group, const at::Tensor& x1) {
    int64_t rows = 0;
    if (__builtin_mul_overflow(x1.size(0), int64_t{group->size()}, &rows)) refuse("x1", "fewer than 2^63 rows", shape_text(x1.sizes()));
    return rows;
}

inline void require_axes(const OptNumbers& axes, at::IntArrayRef wanted) {
    if (axes && !axes->empty() && at::IntArrayRef(*axes) != wanted)
        refuse("alltoAllAxes", c10::str("none, or ", wanted), c10::str(at::IntArrayRef(*axes)));
}

inline at::Tensor turned_weight(const at::Tensor& x2, bool transpose) {
    if (x2.dim() < 2) refuse("x2", "at least 2 dimensions", shape_text(x2.sizes()));
    return transpose ? x2.transpose(-1, -2) : x2;
}

inline std::vector<int64_t> equal_parts(const RanksGroup& group, int64_t rows) {
    return std::vector<int64_t>(group->size(), rows);
}

// {tokens, columns} becomes {ranks tokens, columns / ranks}: the tokens of all, with this rank's part of the columns.
inline at::Tensor columns_of_rank(const RanksGroup& group, const at::Tensor& y) {
    const int64_t ranks = group->size(), tokens = y.size(0);
    const std::vector<int64_t> parts = equal_parts(group, tokens);
    return group->all_to_all(y.view({tokens, ranks, -1}).permute({1, 0, 2}).reshape({ranks * tokens, -1}), parts, parts);
}

}  // namespace torch_aclnn::host::aten
