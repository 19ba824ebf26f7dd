// The products of a mixture of experts with what follows them: a gated unit that is quantised, or the sum over the experts of a token.

#include "engine/aten/matmul/matmul.h"
#include "vocabulary/matmul/quant_grouped_matmul_calls.h"

namespace {

// Rows of x and the weights of the experts, {experts, k, n}, with the scales of both.
struct QuantisedExperts {
    const at::Tensor& x;
    const PackableTensor& weight;
    const at::Tensor& scale;
    OptTensor row_scale;
    bool transposed = false;

    std::vector<int64_t> sizes() const { return exchanged(weight.sizes(), transposed); }

    void require(const char* weight_name, const char* scale_name, const at::Tensor& groups) const {
        if (x.dim() != 2 || x.scalar_type() != at::kChar) refuse("x", "2 dimensions of INT8", shape_text(x.sizes()));
        const std::vector<int64_t> of = sizes();
        if (of.size() != 3 || weight.has_four_bits() || weight.scalar_type() != at::kChar)
            refuse(weight_name, "3 dimensions of INT8: the engine has no weights of four bits here", shape_text(of));
        if (of[1] != x.size(1)) refuse(weight_name, c10::str(x.size(1), " rows, as x has columns"), shape_text(of));
        require_expected(scale_name, scale, shape({of[0], of[2]}));
        require_expected("groupList", groups, shape({of[0]}));
    }
    at::Tensor product(const Range& group) const {
        const at::Tensor matrix = exchanged(to_double(weight.values()).select(0, group.weight), transposed);
        at::Tensor result = at::matmul(to_double(x.narrow(0, group.first, group.size)), matrix);
        result = result * scale_values(scale.select(0, group.weight));
        return given(row_scale) ? result * to_double(row_scale->narrow(0, group.first, group.size)).unsqueeze(1) : result;
    }
};

// Rows behind the last group are zero.
void swiglu_of_groups(const QuantisedExperts& experts, const at::Tensor& groups, int64_t list_type, at::Tensor& y, at::Tensor& scale) {
    y.zero_();
    scale.zero_();
    for (const Range& group : groups_of(numbers(groups), list_type, experts.x.size(0), experts.sizes()[0])) {
        const std::vector<at::Tensor> halves = experts.product(group).chunk(2, 1);
        const DynamicallyQuantised rows = quantise_rows(at::silu(halves[0]) * halves[1], 127);
        at::Tensor place = y.narrow(0, group.first, group.size);
        write_rounded(place, rows.numbers);
        scale.narrow(0, group.first, group.size).copy_(rows.scale);
    }
}

Expected half_columns(const at::Tensor& x, const PackableTensor& weight) {
    if (weight.sizes().back() % 2 != 0) refuse("weight", "an even number of columns", shape_text(weight.sizes()));
    return shape({x.size(0), weight.sizes().back() / 2});
}

void check(const call::GroupedMatmulSwigluQuantV2& a) {
    for (size_t i = 0; a.weightAssistMatrix && i < a.weightAssistMatrix->size(); i++)
        if ((*a.weightAssistMatrix)[i].numel() > 0) refuse("weightAssistMatrix", "null or an empty list: the engine has none", "a tensor");
    require_not_given({{"bias", a.bias}, {"smoothScale", a.smoothScale}});
    if (a.weight.size() != 1) refuse("weight", "1 tensor", std::to_string(a.weight.size()));
    if (a.weightScale.size() != 1) refuse("weightScale", "1 tensor", std::to_string(a.weightScale.size()));
    QuantisedExperts{a.x, a.weight[0], a.weightScale[0], a.xScale}.require("weight", "weightScale", a.groupList);
}

// Each row goes to the row of its token, by its weight; the shared expert's rows are added from one row on.
struct Finalized {
    const call::GroupedMatmulFinalizeRouting& a;

    QuantisedExperts experts() const { return {a.x, a.w, a.scale, a.pertokenScale, a.transposeW}; }
    // Refuses the offsets that later versions add, which the engine lacks. Their other additions only tune the hardware.
    void require() const {
        require_not_given({{"offset", a.offset}, {"antiquantScale", a.antiquantScale}, {"antiquantOffset", a.antiquantOffset}});
        require_not_given("bias", a.bias);
        if (a.transposeX) refuse("transposeX", "false", "true");
        experts().require("w", "scale", a.groupList);
        if (!given(a.rowIndex)) refuse_null("rowIndex", "a tensor");
        require_expected("rowIndex", *a.rowIndex, shape({a.x.size(0)}));
        if (given(a.logit)) require_expected("logit", *a.logit, shape({a.x.size(0)}));
        if (!given(a.sharedInput)) return;
        const at::Tensor& shared = *a.sharedInput;
        if (shared.dim() != 2) refuse("sharedInput", "2 dimensions", shape_text(shared.sizes()));
        require_expected("sharedInput", shared, shape({shared.size(0), a.y.size(1)}));
        if (a.sharedInputOffset < 0 || a.sharedInputOffset > a.y.size(0) - shared.size(0))
            refuse("sharedInputOffset", c10::str("a row from which ", shared.size(0), " rows fit into ", a.y.size(0)),
                   std::to_string(a.sharedInputOffset));
    }
    void run() const {
        require_indices("rowIndex", *a.rowIndex, a.y.size(0));
        at::Tensor sums = at::zeros(a.y.sizes(), at::kDouble);
        if (given(a.sharedInput))
            sums.narrow(0, a.sharedInputOffset, a.sharedInput->size(0)).copy_(to_double(*a.sharedInput) * a.sharedInputWeight);
        for (const Range& group : groups_of(numbers(a.groupList), a.groupListType, a.x.size(0), experts().sizes()[0])) {
            at::Tensor rows = experts().product(group);
            if (given(a.logit)) rows = rows * to_double(a.logit->narrow(0, group.first, group.size)).unsqueeze(1);
            sums.index_add_(0, a.rowIndex->narrow(0, group.first, group.size).to(at::kLong), rows);
        }
        write(a.y, sums);
    }
};

}  // namespace
