// Rows of experts on their way back to the ranks of their tokens, and the tokens' sums (npu_moe_distribute_combine).

#include "engine/aten/moe/expert_parallel.h"
#include "engine/aten/numerics/rms_norm.h"
#include "vocabulary/moe/expert_combine_calls.h"

namespace {

// Experts behind the chosen ones, which the token's own rank computes: they give nothing, the token, or alpha1 token + alpha2 v.
struct SpecialExperts {
    int64_t zeros = 0, copies = 0, constants = 0;
    OptTensor x, alpha1, alpha2, v;

    int64_t count() const { return zeros + copies + constants; }
};

// Returns what these experts make of each of the tokens' choices {tokens, k, features}, and zeros for other experts.
at::Tensor of_special(const SpecialExperts& special, const at::Tensor& numbers) {
    const at::Tensor x = upcast(*special.x).unsqueeze(1), number = numbers - special.zeros - special.copies;
    const at::Tensor is_copy = number.lt(0).logical_and(number.ge(-special.copies)).unsqueeze(-1);
    const at::Tensor copied = at::where(is_copy, x, at::zeros({}, x.options()));
    if (special.constants == 0) return copied;
    const auto of_expert = [&, row = number.clamp_min(0).flatten()](const OptTensor& parameter) {
        return upcast(*parameter).index_select(0, row).unflatten(0, number.sizes());
    };
    const at::Tensor constant = of_expert(special.alpha1) * x + of_expert(special.alpha2) * of_expert(special.v);
    return at::where(number.ge(0).unsqueeze(-1), constant, copied);
}

// Returns each token's sum of its experts' rows, in float32.
at::Tensor combine(const auto& a, const OptTensor& send_counts, const SpecialExperts& special = {}) {
    const Experts experts = experts_of(a);
    const at::Tensor slots = slots_of(a.expertIds, a.xActiveMask, experts, special.count());
    const Exchange exchange(*a.groupEp, experts, slots);
    const at::Tensor sums = at::cumsum(exchange.counts().flatten(), 0);
    if (send_counts && !send_counts->flatten().narrow(0, 0, sums.numel()).to(at::kLong).equal(sums))
        refuse("epSendCounts", c10::str("the running sums of what expertIds of all ranks say, which end with ", exchange.received()),
               "others");
    if (exchange.received() > a.expandX.size(0))
        refuse("expandX", c10::str("at least ", exchange.received(), " rows"), shape_text(a.expandX.sizes()));
    const at::Tensor rows = upcast(exchange.to_tokens(a.expandX.narrow(0, 0, exchange.received())));
    const int64_t tokens = slots.size(0), columns = slots.size(1), k = a.expertIds.size(1);
    at::Tensor values = rows.new_zeros({slots.numel(), rows.size(1)}).index_copy(0, exchange.copies(), rows).view({tokens, columns, -1});
    if (special.copies + special.constants > 0) {
        const at::Tensor numbers = a.expertIds.to(at::kLong) - experts.chosen;
        values.narrow(1, 0, k).add_(of_special(special, numbers));
        if (given(a.xActiveMask)) {
            const at::Tensor& mask = *a.xActiveMask;
            values.mul_((mask.dim() == 1 ? mask.unsqueeze(1) : at::constant_pad_nd(mask.to(at::kBool), {0, columns - k}, 1)).unsqueeze(-1));
        }
    }
    const at::Tensor weights = at::constant_pad_nd(upcast(a.expertScales), {0, columns - k}, 1);
    const at::Tensor sum = (values * weights.unsqueeze(-1)).sum(1);
    return given(a.sharedExpertX) ? sum + upcast(*a.sharedExpertX).reshape(sum.sizes()) : sum;
}

void require_combine(OperationKind kind, const auto& a, std::initializer_list<NamedOptional> reserved = {}) {
    const Experts experts = experts_of(a);
    global_tokens(experts, a.expertIds, a.globalBs);
    require_not_given(reserved);
    a.groupEp->set_record(kind, a.expandX.scalar_type(), a.expandX.size(1));
}

// Returns the bytes of a row that travels as INT8, with a scale for each 8 numbers.
int64_t quantised_row(int64_t features) {
    return aligned(aligned(features, 32) + (features + 7) / 8 * 4, 512);
}

// The shape of the counts of rows that went to each rank, for each expert; it may have more elements.
Expected counts_for(const at::Tensor& send_counts, const Experts& experts) {
    return shape({std::max(send_counts.numel(), experts.own_slots() * experts.ranks)});
}

}  // namespace

static void check(const call::MoeDistributeCombine& a) {
    require_combine(OperationKind::moe_distribute_combine, a,
                    {{"activationScale", a.activationScale},
                     {"weightScale", a.weightScale},
                     {"groupList", a.groupList},
                     {"elasticInfo", a.elasticInfo},
                     {"performanceInfo", a.performanceInfo}});
    const auto require = [](const char* name, const OptTensor& tensor, bool needed, at::IntArrayRef sizes) {
        if (needed && !given(tensor)) refuse_null(name, "a tensor, as there are experts that need it");
        if (given(tensor)) require_expected(name, *tensor, Expected(sizes));
    };
    const int64_t features = a.expandX.size(1), constants = a.constExpertNum;
    require("oriX", a.oriX, a.copyExpertNum + constants > 0, {a.expertIds.size(0), features});
    require("constExpertAlpha1", a.constExpertAlpha1, constants > 0, {constants, features});
    require("constExpertAlpha2", a.constExpertAlpha2, constants > 0, {constants, features});
    require("constExpertV", a.constExpertV, constants > 0, {constants, features});
}
static void compute(const call::MoeDistributeCombine& a) {
    const SpecialExperts special{a.zeroExpertNum,     a.copyExpertNum,     a.constExpertNum, a.oriX,
                                 a.constExpertAlpha1, a.constExpertAlpha2, a.constExpertV};
    const at::Tensor sum = combine(a, a.epSendCounts, special);
    if (!a.y.defined()) return write(a.x, sum);
    const at::Tensor x = sum + upcast(a.residualX).reshape(sum.sizes());
    const RmsNormal norm = rms_normal(x, a.gamma, a.normEps);
    write(a.y, norm.normal * upcast(a.gamma));
    write(a.rstdOut, norm.inverse);
    write(a.x, x);
}
