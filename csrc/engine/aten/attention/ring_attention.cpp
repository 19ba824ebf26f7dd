// Attention to keys that come in parts: combines the results of two parts into the result of both.

#include "vocabulary/attention/ring_attention_calls.h"

namespace {

constexpr int64_t kCopies = 8;  // how often each row's maximum of scores and sum of exponentials is stored

// There is one row for each batch, head and position (SBH), or for each token and head (TND).
Expected statistics_of(const at::Tensor& attention, std::string_view layout, const at::Tensor& max) {
    if (layout == "TND") return {at::DimVector{attention.size(0), attention.size(1), kCopies}, at::kFloat};
    const bool fits = max.dim() == 4 && max.size(1) > 0 && attention.size(2) % max.size(1) == 0;
    if (!fits) refuse("prevSoftmaxMax", c10::str("4 dimensions, with a divisor of ", attention.size(2), " heads"), shape_text(max.sizes()));
    return {at::DimVector{attention.size(1), max.size(1), attention.size(0), kCopies}, at::kFloat};
}

// Returns the share of each row, with the dimensions of the attention before its features: positions, batch and heads, or tokens and heads.
at::Tensor by_row(const at::Tensor& statistics, std::string_view layout) {
    const at::Tensor rows = statistics.select(-1, 0);
    return (layout == "TND" ? rows : rows.permute({2, 0, 1})).unsqueeze(-1);
}

}  // namespace

static void check(const call::RingAttentionUpdate& a) {
    require_given("actualSeqQlenOptional", a.actualSeqQlenOptional, "the ends of the sequences, as inputLayout is TND",
                  a.inputLayout == "TND");
    if (!a.inputSoftmaxLayout.empty() && a.inputSoftmaxLayout != a.inputLayout)
        refuse("inputSoftmaxLayout", "that of inputLayout: the engine has no other", std::string(a.inputSoftmaxLayout));
}
static void compute(const call::RingAttentionUpdate& a) {
    const at::Tensor largest = at::maximum(a.prevSoftmaxMax, a.curSoftmaxMax);
    const at::Tensor before = a.prevSoftmaxSum * at::exp(a.prevSoftmaxMax - largest);
    const at::Tensor part = a.curSoftmaxSum * at::exp(a.curSoftmaxMax - largest), whole = before + part;
    const auto weighted = [&](const at::Tensor& values, const at::Tensor& weight) {
        const at::Tensor shares = by_row(weight / whole, a.inputLayout);
        const at::Tensor features = a.inputLayout == "TND" ? upcast(values) : upcast(values).unflatten(2, {shares.size(2), -1});
        return features * shares;
    };
    write(a.attnOut, weighted(a.prevAttnOut, before) + weighted(a.curAttnOut, part));
    write(a.softmaxMax, largest);
    write(a.softmaxSum, whole);
}
