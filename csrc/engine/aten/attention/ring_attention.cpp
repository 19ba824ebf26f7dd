// Attention of which the keys come in parts: the results of two parts become that of both.
#include <ATen/ATen.h>

#include "engine/aten/numerics/results.h"
#include "vocabulary/attention/ring_attention_calls.h"

using namespace torch_aclnn::host::aten;

namespace {

// The maximum of each row's scores and the sum of their exponentials, eight times each.
struct RowStatistics {
    const at::Tensor &max, &sum;
};
constexpr int64_t kCopies = 8;

// One row for each of batch, head and position (SBH), or of token and head (TND).
Expected statistics_of(const at::Tensor& attention, std::string_view layout, const at::Tensor& max) {
    if (layout == "TND") return {at::DimVector{attention.size(0), attention.size(1), kCopies}, at::kFloat};
    const bool fits = max.dim() == 4 && max.size(1) > 0 && attention.size(2) % max.size(1) == 0;
    if (!fits) refuse("prevSoftmaxMax", c10::str("4 dimensions, with a divisor of ", attention.size(2), " heads"), shape_text(max.sizes()));
    return {at::DimVector{attention.size(1), max.size(1), attention.size(0), kCopies}, at::kFloat};
}

// The share of each row, with the dimensions of the attention before its features: positions, batch and heads, or tokens and heads.
at::Tensor by_row(const at::Tensor& statistics, std::string_view layout) {
    const at::Tensor rows = statistics.select(-1, 0);
    return (layout == "TND" ? rows : rows.permute({2, 0, 1})).unsqueeze(-1);
}

void update(const at::Tensor& before, const RowStatistics& of_before, const at::Tensor& part, const RowStatistics& of_part,
            std::string_view layout, at::Tensor& attention, at::Tensor& max, at::Tensor& sum) {
    const at::Tensor largest = at::maximum(of_before.max, of_part.max);
    const at::Tensor weight_before = of_before.sum * at::exp(of_before.max - largest);
    const at::Tensor weight_part = of_part.sum * at::exp(of_part.max - largest);
    const at::Tensor whole = weight_before + weight_part;
    const auto weighted = [&](const at::Tensor& values, const at::Tensor& weight) {
        const at::Tensor shares = by_row(weight / whole, layout);
        const at::Tensor features = layout == "TND" ? upcast(values) : upcast(values).unflatten(2, {shares.size(2), -1});
        return features * shares;
    };
    write(attention, weighted(before, weight_before) + weighted(part, weight_part));
    write(max, largest);
    write(sum, whole);
}

}  // namespace

static void check(const call::RingAttentionUpdate& a) {
    require_given("actualSeqQlenOptional", a.actualSeqQlenOptional, "the ends of the sequences, as inputLayout is TND",
                  a.inputLayout == "TND");
    if (!a.inputSoftmaxLayout.empty() && a.inputSoftmaxLayout != a.inputLayout)
        refuse("inputSoftmaxLayout", "that of inputLayout: the engine has no other", std::string(a.inputSoftmaxLayout));
}
static void compute(const call::RingAttentionUpdate& a) {
    update(a.prevAttnOut, {a.prevSoftmaxMax, a.prevSoftmaxSum}, a.curAttnOut, {a.curSoftmaxMax, a.curSoftmaxSum}, a.inputLayout, a.attnOut,
           a.softmaxMax, a.softmaxSum);
}

#include "vocabulary/attention/ring_attention_rows.inc"
