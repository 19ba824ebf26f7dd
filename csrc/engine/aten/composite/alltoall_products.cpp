// Products of matrices before or behind an exchange of each rank with each other.
#include <ATen/ATen.h>

#include <numeric>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/collective_products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;
using OptTensor = std::optional<at::Tensor>;

// {tokens, features} becomes {tokens / ranks, ranks features}: each rank's part of the tokens, with the features of all.
at::Tensor features_of_ranks(const RanksGroup& group, const at::Tensor& x1) {
    const int64_t ranks = group->size(), tokens = x1.size(0) / ranks;
    const std::vector<int64_t> parts = equal_parts(group, tokens);
    return group->all_to_all(x1, parts, parts).view({ranks, tokens, x1.size(1)}).permute({1, 0, 2}).reshape({tokens, ranks * x1.size(1)});
}
void prepare_gathered_features(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                               const OptAxes& axes) {
    require_axes(axes, {-2, -1});
    if (x1.dim() != 2 || x1.size(0) % group->size() != 0)
        refuse("x1", c10::str("2 dimensions, and rows for ", group->size(), " ranks"), shape_text(x1.sizes()));
    require_factors(x1, x2, bias, group->size());
    group->set_record(OperationKind::all_to_all_matmul, x1, -1);
}
void prepare_scattered_columns(const RanksGroup& group, const at::Tensor& x1, const at::Tensor& x2, const OptTensor& bias,
                               const OptAxes& axes) {
    require_axes(axes, {-1, -2});
    require_factors(x1, x2, bias);
    if (x1.dim() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    if (x2.size(1) % group->size() != 0) refuse("x2", c10::str("columns for ", group->size(), " ranks"), shape_text(x2.sizes()));
    group->set_record(OperationKind::matmul_all_to_all, x1, -1);
}

// Rows by rank and then by expert, of which `counts` has the numbers, in the order of experts and then of ranks; and back.
at::Tensor order_by_expert(at::IntArrayRef counts, int64_t experts) {
    const at::Tensor numbers = at::tensor(counts, at::kLong);
    const at::Tensor expert = at::arange(numbers.numel(), at::kLong).remainder(std::max<int64_t>(experts, 1));
    return at::argsort(at::repeat_interleave(expert, numbers), /*stable=*/true, 0, false);
}
// How many rows go to each rank, or come from each.
std::vector<int64_t> sums_of_ranks(at::IntArrayRef counts, int64_t ranks) {
    std::vector<int64_t> sums(ranks);
    const int64_t experts = static_cast<int64_t>(counts.size()) / ranks;
    for (int64_t i = 0; i < static_cast<int64_t>(counts.size()); i++) sums[i / experts] += counts[i];
    return sums;
}
int64_t total(at::IntArrayRef counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Of rows in the order of experts.
at::Tensor by_each_expert(const at::Tensor& rows, const at::Tensor& weight, at::IntArrayRef counts, int64_t ranks) {
    const int64_t experts = weight.size(0);
    std::vector<at::Tensor> products;
    for (int64_t expert = 0, first = 0; expert < experts; expert++) {
        int64_t number = 0;
        for (int64_t rank = 0; rank < ranks; rank++) number += counts[rank * experts + expert];
        products.push_back(at::matmul(upcast(rows.narrow(0, first, number)), upcast(weight[expert])));
        first += number;
    }
    return at::cat(products);
}

// What a rank says that it sends, the others must expect; each sees all.
void require_counts_of_all(const RanksGroup& group, at::IntArrayRef sent, at::IntArrayRef received) {
    const int64_t ranks = group->size(), experts = static_cast<int64_t>(sent.size()) / ranks;
    const at::Tensor own = at::tensor(sent, at::kLong).unsqueeze(0), all = group->all_gather(own);
    const at::Tensor to_this = all.narrow(1, group->rank() * experts, experts).flatten();
    if (!to_this.equal(at::tensor(received, at::kLong)))
        refuse("recvCounts",
               c10::str("the counts that the ranks send, ", at::IntArrayRef(to_this.const_data_ptr<int64_t>(), to_this.numel())),
               c10::str(received));
}

struct SharedProduct {
    const OptTensor &x, &weight, &y;
    bool transpose;
};
void require_shared(const SharedProduct& shared) {
    if (given(shared.x) != given(shared.weight))
        refuse_null(given(shared.x) ? "mmWeight" : "mmX", "a tensor, as the other factor is given");
    if (!given(shared.x)) return;
    if (shared.x->dim() != 2) refuse("mmX", "2 dimensions", shape_text(shared.x->sizes()));
    const int64_t inner = shared.weight->dim() == 2 ? shared.weight->size(shared.transpose ? 1 : 0) : -1;
    if (inner != shared.x->size(1))
        refuse("mmWeight", c10::str("2 dimensions, of which one is ", shared.x->size(1)), shape_text(shared.weight->sizes()));
    if (!given(shared.y)) refuse_null("mmY", "a tensor, as there is mmX");
}
IfWanted shared_shape(const SharedProduct& shared) {
    if (!given(shared.x)) return if_wanted(false, one_value());
    return if_wanted(true, shape({shared.x->size(0), shared.weight->size(shared.transpose ? 0 : 1)}));
}
void write_shared(const SharedProduct& shared) {
    if (given(shared.x)) write(shared.y, at::matmul(upcast(*shared.x), upcast(turned_weight(*shared.weight, shared.transpose))));
}

void prepare_experts(OperationKind kind, const RanksGroup& group, const at::Tensor& x, const at::Tensor& weight, bool transpose,
                     int64_t ranks, at::IntArrayRef sent, at::IntArrayRef received, const OptTensor& sent_tensor,
                     const OptTensor& received_tensor) {
    require_not_given("sendCountsTensor", sent_tensor);
    require_not_given("recvCountsTensor", received_tensor);
    if (ranks != group->size()) refuse("epWorldSize", c10::str(group->size(), ", the ranks of group"), std::to_string(ranks));
    if (x.dim() != 2) refuse("gmmX", "2 dimensions", shape_text(x.sizes()));
    if (weight.dim() != 3 || weight.size(transpose ? 2 : 1) != x.size(1))
        refuse("gmmWeight", c10::str("3 dimensions, of which one is ", x.size(1)), shape_text(weight.sizes()));
    const int64_t wanted = weight.size(0) * ranks;
    for (const auto& [name, counts] : {std::pair{"sendCounts", sent}, std::pair{"recvCounts", received}}) {
        require_count(name, counts.size(), wanted, wanted, wanted);
        require_values(name, counts, 0);
    }
    if (total(sent) != x.size(0)) refuse("sendCounts", c10::str("numbers with the sum ", x.size(0)), std::to_string(total(sent)));
    group->set_record(kind, x.scalar_type(), x.size(1));
}

// The rows of all ranks for this one's experts, in their order.
at::Tensor rows_for_experts(const RanksGroup& group, const at::Tensor& x, at::IntArrayRef sent, at::IntArrayRef received, int64_t experts) {
    require_counts_of_all(group, sent, received);
    const int64_t ranks = group->size();
    return group->all_to_all(x, sums_of_ranks(sent, ranks), sums_of_ranks(received, ranks))
        .index_select(0, order_by_expert(received, experts));
}
// From that order to the ranks that the rows came from.
at::Tensor rows_for_ranks(const RanksGroup& group, const at::Tensor& y, at::IntArrayRef sent, at::IntArrayRef received, int64_t experts) {
    require_counts_of_all(group, sent, received);
    const int64_t ranks = group->size();
    const at::Tensor by_rank = at::argsort(order_by_expert(sent, experts));
    return group->all_to_all(y.index_select(0, by_rank), sums_of_ranks(sent, ranks), sums_of_ranks(received, ranks));
}

}  // namespace

#define GATHERED_FEATURES(entry_point, ...)                                                                                             \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16,                                                                                     \
                       prepare_gathered_features(group, x1, turned_weight(x2, transposeX2), bias, alltoAllAxes), (In, x1), (In, x2),    \
                       (OptIn, bias), (OptInts, alltoAllAxes), (CommGroup, group), __VA_ARGS__(NotTransposed, transposeX1),             \
                       (Bool, transposeX2), (Out, output, shape({x1.size(0) / group->size(), turned_weight(x2, transposeX2).size(1)})), \
                       (OptOut, alltoAllOut, or_empty(shape({x1.size(0) / group->size(), x1.size(1) * group->size()})))) {              \
        const at::Tensor all = features_of_ranks(group, x1);                                                                            \
        write(output, product(all, turned_weight(x2, transposeX2), bias));                                                              \
        if (given(alltoAllOut)) write(alltoAllOut, all);                                                                                \
    }
GATHERED_FEATURES(aclnnAlltoAllMatmul)
GATHERED_FEATURES(aclnnAlltoAllMatmulV2, (CommMode, commMode), )

#define SCATTERED_COLUMNS(entry_point, ...)                                                                                                \
    ATEN_CHECKED_ENTRY(                                                                                                                    \
        entry_point, FLOAT16 | BF16, prepare_scattered_columns(group, x1, turned_weight(x2, transposeX2), bias, alltoAllAxes), (In, x1),   \
        (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (CommGroup, group), __VA_ARGS__(NotTransposed, transposeX1),                     \
        (Bool, transposeX2), (Out, output, shape({x1.size(0) * group->size(), turned_weight(x2, transposeX2).size(1) / group->size()}))) { \
        write(output, columns_of_rank(group, product(x1, turned_weight(x2, transposeX2), bias)));                                          \
    }
SCATTERED_COLUMNS(aclnnMatmulAlltoAll)
SCATTERED_COLUMNS(aclnnMatmulAlltoAllV2, (CommMode, commMode), )

#define EXPERT_OPERANDS \
    (In, gmmX), (In, gmmWeight), (OptIn, sendCountsTensor), (OptIn, recvCountsTensor), (OptIn, mmX), (OptIn, mmWeight), (CommGroup, group)
#define EXPERT_COUNTS (Positive, epWorldSize), (Ints, sendCounts), (Ints, recvCounts), (Bool, transGmmWeight), (Bool, transMmWeight)
#define REQUIRE_EXPERTS(kind)                                                                                                            \
    (prepare_experts(OperationKind::kind, group, gmmX, gmmWeight, transGmmWeight, epWorldSize, sendCounts, recvCounts, sendCountsTensor, \
                     recvCountsTensor),                                                                                                  \
     require_shared({mmX, mmWeight, mmY, transMmWeight}))
#define SHARED_RESULT (OptOut, mmY, shared_shape({mmX, mmWeight, mmY, transMmWeight}))
#define ROWS_AND_EXPERTS(entry_point, ...)                                                                             \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16, REQUIRE_EXPERTS(all_to_all_v_grouped_matmul), EXPERT_OPERANDS,     \
                       __VA_ARGS__ EXPERT_COUNTS, (Bool, permuteOutFlag),                                              \
                       (Out, gmmY, shape({total(recvCounts), gmmWeight.size(transGmmWeight ? 1 : 2)})), SHARED_RESULT, \
                       (OptOut, permuteOut, if_wanted(permuteOutFlag, shape({total(recvCounts), gmmX.size(1)})))) {    \
        const at::Tensor rows = rows_for_experts(group, gmmX, sendCounts, recvCounts, gmmWeight.size(0));              \
        write(gmmY, by_each_expert(rows, turned_weight(gmmWeight, transGmmWeight), recvCounts, epWorldSize));          \
        if (permuteOutFlag) write(permuteOut, rows);                                                                   \
        write_shared({mmX, mmWeight, mmY, transMmWeight});                                                             \
    }
ROWS_AND_EXPERTS(aclnnAlltoAllvGroupedMatMul)
ROWS_AND_EXPERTS(aclnnAlltoAllvGroupedMatMulV2, (CommMode, commMode), )

#define EXPERTS_AND_ROWS(entry_point, ...)                                                                                      \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16, REQUIRE_EXPERTS(grouped_matmul_all_to_all_v), EXPERT_OPERANDS,              \
                       __VA_ARGS__ EXPERT_COUNTS, (Out, y, shape({total(recvCounts), gmmWeight.size(transGmmWeight ? 1 : 2)})), \
                       SHARED_RESULT) {                                                                                         \
        const at::Tensor products = by_each_expert(gmmX, turned_weight(gmmWeight, transGmmWeight), sendCounts, epWorldSize);    \
        write(y, rows_for_ranks(group, products, sendCounts, recvCounts, gmmWeight.size(0)));                                   \
        write_shared({mmX, mmWeight, mmY, transMmWeight});                                                                      \
    }
EXPERTS_AND_ROWS(aclnnGroupedMatMulAlltoAllv)
EXPERTS_AND_ROWS(aclnnGroupedMatMulAlltoAllvV2, (CommMode, commMode), )
