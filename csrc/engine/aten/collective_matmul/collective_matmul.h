// Products of matrices whose operands or results are spread over ranks: what their operands must be, and their attributes.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <optional>

#include "engine/aten/adapter/attributes.h"
#include "engine/aten/adapter/expected.h"
#include "engine/aten/collective_matmul/collective.h"
#include "engine/aten/numerics/results.h"

namespace torch_aclnn::host::aten {

using RanksGroup = std::shared_ptr<Collective>;

inline at::Tensor product(const at::Tensor& x1, const at::Tensor& x2, const std::optional<at::Tensor>& bias) {
    const at::Tensor result = at::matmul(upcast(x1), upcast(x2));
    return bias && bias->numel() > 0 ? result + upcast(*bias) : result;
}

// The left factor is x1, or x1 of several ranks side by side.
inline void require_factors(const at::Tensor& x1, const at::Tensor& x2, const std::optional<at::Tensor>& bias, int64_t ranks = 1) {
    if (x1.dim() < 2) refuse("x1", "at least 2 dimensions", shape_text(x1.sizes()));
    if (x2.dim() != 2 || x2.size(0) != x1.size(-1) * ranks)
        refuse("x2", c10::str("2 dimensions, and ", x1.size(-1) * ranks, " rows like the columns of x1"), shape_text(x2.sizes()));
    if (bias && bias->numel() > 0 && bias->sizes() != at::IntArrayRef{x2.size(1)})
        refuse("bias", c10::str("shape [", x2.size(1), "]"), shape_text(bias->sizes()));
}

// A result has the columns of x2 and so many rows, or the leading dimensions of x1.
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

using OptAxes = std::optional<std::vector<int64_t>>;
inline void require_axes(const OptAxes& axes, at::IntArrayRef wanted) {
    if (axes && !axes->empty() && at::IntArrayRef(*axes) != wanted)
        refuse("alltoAllAxes", c10::str("none, or ", wanted), c10::str(at::IntArrayRef(*axes)));
}

inline at::Tensor turned_weight(const at::Tensor& x2, bool transpose) {
    if (x2.dim() < 2) refuse("x2", "at least 2 dimensions", shape_text(x2.sizes()));
    return transpose ? x2.transpose(-1, -2) : x2;
}

// As many rows for each rank.
inline std::vector<int64_t> equal_parts(const RanksGroup& group, int64_t rows) {
    return std::vector<int64_t>(group->size(), rows);
}

// {tokens, columns} becomes {ranks tokens, columns / ranks}: the tokens of all, with this rank's part of the columns.
inline at::Tensor columns_of_rank(const RanksGroup& group, const at::Tensor& y) {
    const int64_t ranks = group->size(), tokens = y.size(0);
    const std::vector<int64_t> parts = equal_parts(group, tokens);
    return group->all_to_all(y.view({tokens, ranks, -1}).permute({1, 0, 2}).reshape({ranks * tokens, -1}), parts, parts);
}

namespace kind {
struct NotTransposed : Bool {
    static bool read(const char* name, bool transposed) {
        if (transposed) refuse(name, "false, the only value that the documents allow", "true");
        return transposed;
    }
};
}  // namespace kind

}  // namespace torch_aclnn::host::aten
