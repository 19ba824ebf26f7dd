// Rows of experts on their way back to the ranks of their tokens, and the tokens' sums (npu_moe_distribute_combine).
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/expert_parallel.h"
#include "engine/aten/composite/quantised.h"
#include "engine/aten/composite/rms_norm.h"

#define ATEN_FAMILY "mixture of experts"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;
using OptTensor = std::optional<at::Tensor>;

// Experts behind the chosen ones, which the token's own rank computes: nothing, the token, or alpha1 token + alpha2 v.
struct SpecialExperts {
    int64_t zeros = 0, copies = 0, constants = 0;
    OptTensor x, alpha1, alpha2, v;

    int64_t count() const { return zeros + copies + constants; }
};

void require_special(const SpecialExperts& special, const at::Tensor& expand_x, const at::Tensor& expert_ids) {
    const auto require = [](const char* name, const OptTensor& tensor, bool needed, at::IntArrayRef sizes) {
        if (needed && !given(tensor)) refuse_null(name, "a tensor, as there are experts that need it");
        if (given(tensor)) require_expected(name, *tensor, Expected(sizes));
    };
    const int64_t features = expand_x.size(1);
    require("oriX", special.x, special.copies + special.constants > 0, {expert_ids.size(0), features});
    require("constExpertAlpha1", special.alpha1, special.constants > 0, {special.constants, features});
    require("constExpertAlpha2", special.alpha2, special.constants > 0, {special.constants, features});
    require("constExpertV", special.v, special.constants > 0, {special.constants, features});
}

// What these experts make of each of the tokens' choices {tokens, k, features}; of the others nothing.
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

struct CombinedRows {
    const at::Tensor &expand_x, &expert_ids, &weights;
    const OptTensor &mask, &shared_x;
};

// Each token's sum of its experts' rows, in float32.
at::Tensor combine(const Collective& group, const Experts& experts, const CombinedRows& operands, const OptTensor& send_counts,
                   const SpecialExperts& special = {}) {
    const at::Tensor slots = slots_of(operands.expert_ids, operands.mask, experts, special.count());
    const Exchange exchange(group, experts, slots);
    const at::Tensor sums = at::cumsum(exchange.counts().flatten(), 0);
    if (send_counts && !send_counts->flatten().narrow(0, 0, sums.numel()).to(at::kLong).equal(sums))
        refuse("epSendCounts", c10::str("the running sums of what expertIds of all ranks say, which end with ", exchange.received()),
               "others");
    if (exchange.received() > operands.expand_x.size(0))
        refuse("expandX", c10::str("at least ", exchange.received(), " rows"), shape_text(operands.expand_x.sizes()));
    const at::Tensor rows = upcast(exchange.to_tokens(operands.expand_x.narrow(0, 0, exchange.received())));
    const int64_t tokens = slots.size(0), columns = slots.size(1), k = operands.expert_ids.size(1);
    at::Tensor values = rows.new_zeros({slots.numel(), rows.size(1)}).index_copy(0, exchange.copies(), rows).view({tokens, columns, -1});
    const at::Tensor weights = upcast(operands.weights);
    if (special.copies + special.constants > 0) {
        const at::Tensor numbers = operands.expert_ids.to(at::kLong) - experts.chosen;
        values.narrow(1, 0, k).add_(of_special(special, numbers));
        if (given(operands.mask)) {
            const at::Tensor& mask = *operands.mask;
            values.mul_((mask.dim() == 1 ? mask.unsqueeze(1) : at::constant_pad_nd(mask.to(at::kBool), {0, columns - k}, 1)).unsqueeze(-1));
        }
    }
    const at::Tensor sum = (values * at::constant_pad_nd(weights, {0, columns - k}, 1).unsqueeze(-1)).sum(1);
    return given(operands.shared_x) ? sum + upcast(*operands.shared_x).reshape(sum.sizes()) : sum;
}

void require_combine(OperationKind kind, const std::shared_ptr<Collective>& group, const Experts& experts, const at::Tensor& expand_x,
                     const at::Tensor& expert_ids, int64_t global_bs,
                     std::initializer_list<std::pair<const char*, const OptTensor&>> reserved) {
    if (expand_x.dim() != 2) refuse("expandX", "2 dimensions", shape_text(expand_x.sizes()));
    global_tokens(experts, expert_ids, global_bs);
    for (const auto& [name, tensor] : reserved) require_not_given(name, tensor);
    group->set_record(kind, expand_x.scalar_type(), expand_x.size(1));
}

// The bytes of a row that travels as INT8, with a scale of each 8 numbers.
int64_t quantised_row(int64_t features) {
    return aligned(aligned(features, 32) + (features + 7) / 8 * 4, 512);
}

// At least so many of the experts' rows have gone to each rank.
Expected counts_for(const at::Tensor& send_counts, const Experts& experts) {
    return shape({std::max(send_counts.numel(), experts.own_slots() * experts.ranks)});
}

struct NormalisedOutputs {
    at::Tensor &y, &rstd, &x;
};
void add_rms_norm(const at::Tensor& combined, const at::Tensor& residual, const at::Tensor& gamma, float epsilon, NormalisedOutputs out) {
    const at::Tensor x = combined + upcast(residual).reshape(combined.sizes());
    const RmsNormal norm = rms_normal(x, gamma, epsilon);
    write(out.y, norm.normal * upcast(gamma));
    write(out.rstd, norm.inverse);
    write(out.x, x);
}

void require_barrier(const std::shared_ptr<Collective>& group, int64_t ranks) {
    if (ranks != group->size()) refuse("worldSize", c10::str(group->size(), ", the ranks of group"), std::to_string(ranks));
    group->set_record(OperationKind::distribute_barrier, at::kChar, 1);
}

}  // namespace

#define RETURNED                                                                                                             \
    (In, expandX), (Int32s, expertIds), (In, expandIdx, rank(1)), (Int32s, epSendCounts, counts_for(epSendCounts, EXPERTS)), \
        (In, expertScales, shaped_like(expertIds))
#define NORM_OPERANDS (In, residualX, shape({expertIds.size(0), 1, expandX.size(1)})), (In, gamma, shape({expandX.size(1)}))
#define RESERVED                                                                                                                       \
    (OptIn, tpSendCounts), (OptIn, xActiveMask, either(shape({expertIds.size(0)}), shaped_like(expertIds))), (OptIn, activationScale), \
        (OptIn, weightScale), (OptIn, groupList), (OptIn, expandScales)
#define SHARED_EXPERT_X (OptIn, sharedExpertX, elements(expertIds.size(0) * expandX.size(1)))
#define SPECIAL_OPERANDS (OptIn, elasticInfo), (OptIn, oriX), (OptIn, constExpertAlpha1), (OptIn, constExpertAlpha2), (OptIn, constExpertV)
#define COMBINE_ATTRIBUTES \
    EXPERT_RANKS, TENSOR_RANKS, SHARED_EXPERTS, (Int32Count, globalBs), (Zero, outDtype), (Zero, commQuantMode), (Zero, groupListType)
#define COMBINED (Out, x, Expected({expertIds.size(0), expandX.size(1)}, expandX.scalar_type()))
#define NORMALISED                                                                      \
    (Out, y, Expected({expertIds.size(0), 1, expandX.size(1)}, expandX.scalar_type())), \
        (Out, rstdOut, Expected({expertIds.size(0), 1, 1}, at::kFloat)), (Out, x, shaped_like(y))
#define SPECIAL                                                                                                \
    SpecialExperts {                                                                                           \
        zeroExpertNum, copyExpertNum, constExpertNum, oriX, constExpertAlpha1, constExpertAlpha2, constExpertV \
    }
#define NOT_THERE                                                         \
    {"activationScale", activationScale}, {"weightScale", weightScale}, { \
        "groupList", groupList                                            \
    }
#define REQUIRE_COMBINE(...)                                                                               \
    require_combine(OperationKind::moe_distribute_combine, groupEp, EXPERTS, expandX, expertIds, globalBs, \
                    {NOT_THERE __VA_OPT__(, ) __VA_ARGS__})
#define REQUIRE_SPECIAL(...) \
    (REQUIRE_COMBINE({"elasticInfo", elasticInfo} __VA_OPT__(, ) __VA_ARGS__), require_special(SPECIAL, expandX, expertIds))
#define COMBINE(shared_x, ...) \
    combine(*groupEp, EXPERTS, {expandX, expertIds, expertScales, xActiveMask, shared_x}, epSendCounts __VA_OPT__(, ) __VA_ARGS__)

ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombine, FLOAT16 | BF16, REQUIRE_COMBINE(), RETURNED, RESERVED, COMBINE_ATTRIBUTES, COMBINED) {
    write(x, COMBINE(std::nullopt));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineV2, FLOAT16 | BF16, REQUIRE_COMBINE(), RETURNED, RESERVED, SHARED_EXPERT_X, COMBINE_ATTRIBUTES,
                   (CommAlg, commAlg), COMBINED) {
    write(x, COMBINE(sharedExpertX));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineV3, FLOAT16 | BF16, REQUIRE_SPECIAL(), RETURNED, RESERVED, SHARED_EXPERT_X, SPECIAL_OPERANDS,
                   COMBINE_ATTRIBUTES, (CommAlg, commAlg), SPECIAL_EXPERTS, COMBINED) {
    write(x, COMBINE(sharedExpertX, SPECIAL));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineV4, FLOAT16 | BF16, REQUIRE_SPECIAL({"performanceInfo", performanceInfo}), RETURNED, RESERVED,
                   SHARED_EXPERT_X, SPECIAL_OPERANDS, (OptIn, performanceInfo), COMBINE_ATTRIBUTES, (CommAlg, commAlg), SPECIAL_EXPERTS,
                   COMBINED) {
    write(x, COMBINE(sharedExpertX, SPECIAL));
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineAddRmsNorm, BF16, REQUIRE_COMBINE(), RETURNED, NORM_OPERANDS, RESERVED, SHARED_EXPERT_X,
                   COMBINE_ATTRIBUTES, (CommAlg, commAlg), (NotNegativeFloat, normEps), NORMALISED) {
    add_rms_norm(COMBINE(sharedExpertX), residualX, gamma, normEps, {y, rstdOut, x});
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineAddRmsNormV2, FLOAT16 | BF16, REQUIRE_SPECIAL(), RETURNED, NORM_OPERANDS, RESERVED,
                   SHARED_EXPERT_X, SPECIAL_OPERANDS, COMBINE_ATTRIBUTES, (CommAlg, commAlg), (NotNegativeFloat, normEps), SPECIAL_EXPERTS,
                   NORMALISED) {
    add_rms_norm(COMBINE(sharedExpertX, SPECIAL), residualX, gamma, normEps, {y, rstdOut, x});
}

// The rows travel when both are over, so that there is nothing to begin with; what setup hands to teardown is empty.
#define COMBINE_IN_PARTS EXPERT_RANKS, SHARED_EXPERTS, (Int32Count, globalBs), (Zero, commQuantMode), (Zero, commType), (CommAlg, commAlg)
#define REQUIRE_PART(kind) require_combine(OperationKind::kind, groupEp, EXPERTS, expandX, expertIds, globalBs, {})
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineSetup, FLOAT16 | BF16, REQUIRE_PART(moe_distribute_combine_setup), (In, expandX),
                   (Int32s, expertIds), (In, assistInfoForCombine, rank(1)), COMBINE_IN_PARTS,
                   (Out, quantExpandX, shape({expandX.size(0), quantised_row(expandX.size(1))})),
                   (Out, commCmdInfo, shape({(expandX.size(0) + epWorldSize) * 16}))) {
    quantExpandX.zero_();
    commCmdInfo.zero_();
}
ATEN_CHECKED_ENTRY(aclnnMoeDistributeCombineTeardown, FLOAT16 | BF16, REQUIRE_PART(moe_distribute_combine_teardown), (In, expandX),
                   (In, quantExpandX, shape({expandX.size(0), quantised_row(expandX.size(1))})), (Int32s, expertIds),
                   (In, expandIdx, rank(1)), (In, expertScales, shaped_like(expertIds)),
                   (In, commCmdInfo, shape({(expandX.size(0) + epWorldSize) * 16})),
                   (OptIn, xActiveMask, either(shape({expertIds.size(0)}), shaped_like(expertIds))), SHARED_EXPERT_X, COMBINE_IN_PARTS,
                   COMBINED) {
    write(x, combine(*groupEp, EXPERTS, {expandX, expertIds, expertScales, xActiveMask, sharedExpertX}, std::nullopt));
}

// Ends on each rank when all have come to it. How long that may take is the communicator's affair, whatever timeOut says.
#define REQUIRE_BARRIER require_barrier(group, worldSize)
ATEN_CHECKED_ENTRY(aclnnDistributeBarrier, ANY.without(DOUBLE | COMPLEX), REQUIRE_BARRIER, (InOut, xRef), (CommGroup, group),
                   (Positive, worldSize)) {
    group->barrier();
}
ATEN_CHECKED_ENTRY(aclnnDistributeBarrierV2, ANY, (REQUIRE_BARRIER, require_not_given("elasticInfo", elasticInfo)), (InOut, xRef),
                   (OptIn, timeOut), (OptIn, elasticInfo), (CommGroup, group), (Positive, worldSize)) {
    group->barrier();
}
