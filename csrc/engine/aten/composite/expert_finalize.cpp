// Sums of the rows that a token's experts make, and the gradients of routing (npu_moe_finalize_routing and its kin).
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "mixture of experts"
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

void require_none(const char* name, const std::optional<std::vector<int64_t>>& range) {
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

namespace torch_aclnn::host::aten::kind {
using FinalizeMode = Between<int64_t, 0, 3>;
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRouting, FLOATING, require_finalized(expandedX, expandedRowIdx, bias, expertIdx, out), (In, expandedX),
                   (In, skip1, or_empty(shaped_like(out))), (OptIn, skip2, or_empty(shaped_like(out))), (In, bias),
                   (In, scales, by_copy(expandedRowIdx, out)), (In, expandedRowIdx), (In, expertIdx),
                   (Out, out, shape({out.size(0), expandedX.size(-1)}))) {
    finalize(expandedX, expandedRowIdx, skip1, skip2, bias, scales, expertIdx, false, out);
}
// In modes 2 and 3 the copies of a token lie side by side.
ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRoutingV2, FLOATING, require_finalized(expandedX, expandedRowIdx, bias, expertIdx, out), (In, expandedX),
                   (In, expandedRowIdx), (OptIn, x1, or_empty(shaped_like(out))), (OptIn, x2, or_empty(shaped_like(out))), (OptIn, bias),
                   (OptIn, scales, by_copy(expandedRowIdx, out)), (OptIn, expertIdx), (FinalizeMode, dropPadMode),
                   (Out, out, shape({out.size(0), expandedX.size(-1)}))) {
    finalize(expandedX, expandedRowIdx, x1, x2, bias, scales, expertIdx, dropPadMode >= 2, out);
}
// With experts that compute nothing, which torch_npu leaves out; their ranges are refused.
ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRoutingV4, FLOATING,
                   (require_finalized(expandedX, expandedRowIdx, bias, expertIdx, out),
                    require_experts_of_token(scales, k, expandedRowIdx, out), require_none("zeroExpertRange", zeroExpertRange),
                    require_none("copyExpertRange", copyExpertRange), require_none("constExpertRange", constExpertRange)),
                   (In, expandedX), (In, expandedRowIdx), (OptIn, x1, or_empty(shaped_like(out))), (OptIn, x2, or_empty(shaped_like(out))),
                   (OptIn, bias), (OptIn, scales, by_copy(expandedRowIdx, out)), (OptIn, expertIdx), (OptIn, x), (OptIn, constExpertAlpha1),
                   (OptIn, constExpertAlpha2), (OptIn, constExpertV), (FinalizeMode, dropPadMode), (OptInts, zeroExpertRange),
                   (OptInts, copyExpertRange), (OptInts, constExpertRange), (Positive, k),
                   (Out, out, shape({out.size(0), expandedX.size(-1)}))) {
    finalize(expandedX, expandedRowIdx, x1, x2, bias, scales, expertIdx, dropPadMode >= 2, out);
}
// The copies of a token lie side by side.
ATEN_CHECKED_ENTRY(aclnnMoeFinalizeRoutingV2Grad, FLOATING,
                   require_gradient_of_sums(gradY, expandedRowIdx, scales, expandedX, bias, expertIdx), (In, gradY),
                   (Indices, expandedRowIdx), (OptIn, expandedX, or_empty(shaped_like(gradExpandedX))),
                   (OptIn, scales, or_empty(shape({gradY.size(0), copies_of_token(expandedRowIdx, gradY)}))),
                   (OptIn, expertIdx, as_many_as(expandedRowIdx)), (OptIn, bias), (TrueOrNot, dropPadMode), (NotNegative, activeNum),
                   (NotNegative, expertNum), (NotNegative, expertCapacity),
                   (Out, gradExpandedX, expanded_like(gradY, dropPadMode, activeNum, expertNum, expertCapacity, expandedRowIdx.numel())),
                   (OptOut, gradScales, if_wanted(given(scales), shape({gradY.size(0), copies_of_token(expandedRowIdx, gradY)})))) {
    const int64_t k = copies_of_token(expandedRowIdx, gradY);
    const at::Tensor grad = upcast(gradY).repeat_interleave(k, 0);
    const at::Tensor weighted = given(scales) ? grad * upcast(*scales).reshape({-1, 1}) : grad;
    write(gradExpandedX, rows_to(weighted, expandedRowIdx, gradExpandedX.numel() / std::max<int64_t>(gradY.size(1), 1)));
    if (!given(scales)) return;
    at::Tensor rows = rows_or_none(upcast(*expandedX), expandedRowIdx);
    if (given(bias)) rows = rows + upcast(*bias).index_select(0, expertIdx->to(at::kLong).flatten());
    write(gradScales, (rows * grad).sum(1));
}
ATEN_ENTRY(aclnnMoeInitRoutingV2Grad, FLOATING, (In, gradExpandedX, rank_from(2)), (Int32s, expandedRowIdx, elements(out.size(0) * topK)),
           (Positive, topK), (TrueOrNot, dropPadMode), (NotNegative, activeNum),
           (Out, out, Expected({out.dim() == 2 ? out.size(0) : 0, gradExpandedX.size(-1)}, gradExpandedX.scalar_type()))) {
    write(out, rows_or_none(upcast(gradExpandedX), expandedRowIdx).view({out.size(0), topK, out.size(1)}).sum(1));
}
