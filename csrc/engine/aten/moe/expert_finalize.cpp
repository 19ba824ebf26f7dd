// Sums of the rows that a token's experts make, and the gradients of routing (npu_moe_finalize_routing and its kin).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/results.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/moe/expert_finalize_calls.h"

using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// The sum over the experts of a token: scale (row + bias), and what skips the experts.
void finalize(const at::Tensor& rows, const at::Tensor& row_of_copy, const std::optional<at::Tensor>& skip1,
              const std::optional<at::Tensor>& skip2, const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& scales,
              const std::optional<at::Tensor>& experts, bool by_token, at::Tensor& out) {
    const int64_t tokens = out.size(0), k = row_of_copy.numel() / std::max<int64_t>(tokens, 1);
    const at::Tensor places = by_token ? row_of_copy.view({tokens, k}) : row_of_copy.view({k, tokens}).t();
    const at::Tensor flat = upcast(rows).flatten(0, -2), all = at::cat({flat, flat.new_zeros({1, flat.size(1)})});
    const at::Tensor index = places.to(at::kLong).flatten(), none = at::full({}, flat.size(0), at::kLong);
    at::Tensor values = all.index_select(0, at::where(index.lt(0), none, index)).view({tokens, k, flat.size(1)});
    if (given(bias)) values = values + upcast(*bias).index_select(0, experts->to(at::kLong).flatten()).view_as(values);
    if (given(scales)) values = values * upcast(*scales).unsqueeze(-1);
    at::Tensor sum = values.sum(1);
    if (given(skip1)) sum = sum + upcast(*skip1);
    if (given(skip2)) sum = sum + upcast(*skip2);
    write(out, sum);
}

void require_finalized(const at::Tensor& rows, const at::Tensor& row_of_copy, const std::optional<at::Tensor>& bias,
                       const std::optional<at::Tensor>& experts, const at::Tensor& out) {
    if (rows.dim() < 2) refuse("expandedX", "at least 2 dimensions", shape_text(rows.sizes()));
    const int64_t tokens = out.dim() > 0 ? out.size(0) : 0;
    if (tokens == 0 || row_of_copy.numel() % tokens != 0)
        refuse("out", c10::str("a number of rows that divides expandedRowIdx's ", row_of_copy.numel()), shape_text(out.sizes()));
    if (given(bias) && !given(experts)) torch_aclnn::host::refuse_null("expertIdx", "a tensor, as there is a bias");
    if (given(bias)) require_expected("bias", *bias, shape({bias->dim() == 2 ? bias->size(0) : 0, rows.size(-1)}));
    if (given(bias) && experts->numel() != row_of_copy.numel())
        refuse("expertIdx", c10::str(row_of_copy.numel(), " values, as expandedRowIdx has"), shape_text(experts->sizes()));
}

// Of the copies of each token.
OrEmpty by_copy(const at::Tensor& row_of_copy, const at::Tensor& out) {
    return or_empty(shape({out.size(0), row_of_copy.numel() / out.size(0)}));
}

// The rows at these places; zeros for a place that is none, as those of dropped copies.
at::Tensor rows_or_none(const at::Tensor& rows, const at::Tensor& places) {
    const at::Tensor flat = rows.flatten(0, -2), all = at::cat({flat, flat.new_zeros({1, flat.size(1)})});
    const at::Tensor index = places.to(at::kLong).flatten();
    return all.index_select(0, index.masked_fill(index.lt(0).logical_or(index.ge(flat.size(0))), flat.size(0)));
}
// Puts rows to their places; those that have none nowhere.
at::Tensor rows_to(const at::Tensor& rows, const at::Tensor& places, int64_t count) {
    const at::Tensor index = places.to(at::kLong).flatten(), there = at::nonzero(index.ge(0).logical_and(index.lt(count))).squeeze(1);
    return rows.new_zeros({count, rows.size(1)}).index_copy(0, index.index_select(0, there), rows.index_select(0, there));
}

// Without scales, which have a column for each, the caller says how many experts a token has.
void require_experts_of_token(const std::optional<at::Tensor>& scales, int64_t k, const at::Tensor& row_of_copy, const at::Tensor& out) {
    if (!given(scales) && out.size(0) * k != row_of_copy.numel())
        refuse("k", c10::str(row_of_copy.numel() / std::max<int64_t>(out.size(0), 1), ", as expandedRowIdx and out say"),
               std::to_string(k));
}

void require_not_given(const char* name, const std::optional<std::vector<int64_t>>& range) {
    if (range && !range->empty()) refuse(name, "null: the engine has no such experts here", c10::str(at::IntArrayRef(*range)));
}

// Rows {rows, features}, or as much room for each expert {experts, capacity, features}.
Expected expanded_like(const at::Tensor& grad, int64_t mode, int64_t active, int64_t experts, int64_t capacity, int64_t copies) {
    if (mode == 1) return shape({experts, capacity, grad.size(1)});
    return shape({active > 0 ? std::min(active, copies) : copies, grad.size(1)});
}
int64_t copies_of_token(const at::Tensor& row_of_copy, const at::Tensor& grad) {
    if (grad.dim() != 2 || (grad.size(0) == 0 ? row_of_copy.numel() != 0 : row_of_copy.numel() % grad.size(0) != 0))
        refuse("gradY", c10::str("2 dimensions, and a number of rows that divides expandedRowIdx's ", row_of_copy.numel()),
               shape_text(grad.sizes()));
    return grad.size(0) == 0 ? 0 : row_of_copy.numel() / grad.size(0);
}
void require_gradient_of_sums(const at::Tensor& grad, const at::Tensor& row_of_copy, const std::optional<at::Tensor>& scales,
                              const std::optional<at::Tensor>& rows, const std::optional<at::Tensor>& bias,
                              const std::optional<at::Tensor>& experts) {
    copies_of_token(row_of_copy, grad);
    if (!given(scales)) return;
    if (!given(rows)) torch_aclnn::host::refuse_null("expandedX", "a tensor, for the gradient of scales");
    if (given(bias) && !given(experts)) torch_aclnn::host::refuse_null("expertIdx", "a tensor, as there is a bias");
    if (given(bias)) require_expected("bias", *bias, shape({bias->dim() == 2 ? bias->size(0) : 0, grad.size(1)}));
}

}  // namespace

static void check(const call::MoeFinalizeRoutingV2& a) {
    require_finalized(a.expandedX, a.expandedRowIdx, a.bias, a.expertIdx, a.out);
    require_experts_of_token(a.scales, a.k, a.expandedRowIdx, a.out);
    require_not_given("zeroExpertRange", a.zeroExpertRange);
    require_not_given("copyExpertRange", a.copyExpertRange);
    require_not_given("constExpertRange", a.constExpertRange);
}
// The copies of a token lie side by side.
static void compute(const call::MoeFinalizeRoutingV2Grad& a) {
    const int64_t k = copies_of_token(a.expandedRowIdx, a.gradY);
    const at::Tensor grad = upcast(a.gradY).repeat_interleave(k, 0);
    const at::Tensor weighted = given(a.scales) ? grad * upcast(*a.scales).reshape({-1, 1}) : grad;
    write(a.gradExpandedX, rows_to(weighted, a.expandedRowIdx, a.gradExpandedX.numel() / std::max<int64_t>(a.gradY.size(1), 1)));
    if (!given(a.scales)) return;
    at::Tensor rows = rows_or_none(upcast(*a.expandedX), a.expandedRowIdx);
    if (given(a.bias)) rows = rows + upcast(*a.bias).index_select(0, a.expertIdx->to(at::kLong).flatten());
    write(a.gradScales, (rows * grad).sum(1));
}

#include "vocabulary/moe/expert_finalize_rows.inc"
