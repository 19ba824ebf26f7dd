// The products of a mixture of experts with what follows them: a gated unit that is quantised, or the sum over the experts of a token.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "grouped products"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// Rows of x and the weights of the experts, {experts, k, n}, with the scales of both.
struct QuantisedExperts {
    const at::Tensor& x;
    const PackableTensor& weight;
    const at::Tensor& scale;
    const std::optional<at::Tensor>& row_scale;
    bool transposed = false;

    std::vector<int64_t> sizes() const { return exchanged(weight.sizes(), transposed); }
    int64_t columns() const { return sizes().back(); }

    void require(const char* x_name, const char* weight_name, const char* scale_name, const at::Tensor& groups) const {
        if (x.dim() != 2 || x.scalar_type() != at::kChar) refuse(x_name, "2 dimensions of INT8", shape_text(x.sizes()));
        const std::vector<int64_t> of = sizes();
        if (of.size() != 3 || weight.has_four_bits() || weight.scalar_type() != at::kChar)
            refuse(weight_name, "3 dimensions of INT8: the engine has no weights of four bits here", shape_text(at::IntArrayRef(of)));
        if (of[1] != x.size(1)) refuse(weight_name, c10::str(x.size(1), " rows, as ", x_name, " has columns"), shape_text(of));
        require_expected(scale_name, scale, shape({of[0], of[2]}));
        require_expected("groupList", groups, shape({of[0]}));
    }
    // The scaled product of one group's rows.
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
    if (weight.sizes().back() % 2 != 0) refuse("weight", "an even number of columns", shape_text(at::IntArrayRef(weight.sizes())));
    return shape({x.size(0), weight.sizes().back() / 2});
}

const std::vector<PackableTensor>& require_one(const std::vector<PackableTensor>& weight) {
    if (weight.size() != 1) refuse("weight", "1 tensor", std::to_string(weight.size()));
    return weight;
}
at::TensorList require_one_scale(at::TensorList scale) {
    if (scale.size() != 1) refuse("weightScale", "1 tensor", std::to_string(scale.size()));
    return scale;
}
void require_no_matrix(const std::optional<std::vector<at::Tensor>>& matrices) {
    for (size_t i = 0; matrices && i < matrices->size(); i++)
        if ((*matrices)[i].numel() > 0) refuse("weightAssistMatrix", "null or an empty list: the engine has none", "a tensor");
}

void require_off(const char* name, bool value) {
    if (value) refuse(name, "false", "true");
}

// Each row goes to the row of its token, by its weight; the shared expert's rows are added from one row on.
struct Finalized {
    const std::optional<at::Tensor>&shared, &logit, &row_index;
    double shared_weight;
    int64_t shared_first;

    void require(const at::Tensor& x, const at::Tensor& out) const {
        if (!given(row_index)) torch_aclnn::host::refuse_null("rowIndex", "a tensor");
        require_expected("rowIndex", *row_index, shape({x.size(0)}));
        if (given(logit)) require_expected("logit", *logit, shape({x.size(0)}));
        if (!given(shared)) return;
        if (shared->dim() != 2) refuse("sharedInput", "2 dimensions", shape_text(shared->sizes()));
        require_expected("sharedInput", *shared, shape({shared->size(0), out.size(1)}));
        if (shared_first < 0 || shared_first > out.size(0) - shared->size(0))
            refuse("sharedInputOffset", c10::str("a row from which ", shared->size(0), " rows fit into ", out.size(0)),
                   std::to_string(shared_first));
    }
    void run(const QuantisedExperts& experts, const at::Tensor& groups, int64_t list_type, at::Tensor& out) const {
        require_indices("rowIndex", *row_index, out.size(0));
        at::Tensor sums = at::zeros(out.sizes(), at::kDouble);
        if (given(shared)) sums.narrow(0, shared_first, shared->size(0)).copy_(to_double(*shared) * shared_weight);
        for (const Range& group : groups_of(numbers(groups), list_type, experts.x.size(0), experts.sizes()[0])) {
            at::Tensor rows = experts.product(group);
            if (given(logit)) rows = rows * to_double(logit->narrow(0, group.first, group.size)).unsqueeze(1);
            sums.index_add_(0, row_index->narrow(0, group.first, group.size).to(at::kLong), rows);
        }
        write(out, sums);
    }
};

}  // namespace

#define GROUPED_SWIGLU(entry_point, Weight)                                                                                            \
    ATEN_CHECKED_ENTRY(entry_point, INT8,                                                                                              \
                       (require_not_given("bias", bias), require_not_given("offset", offset),                                          \
                        (QuantisedExperts{x, weight, weightScale, xScale}).require("x", "weight", "weightScale", groupList)),          \
                       (In, x), (Weight, weight), (OptIn, bias), (OptIn, offset), (In, weightScale), (In, xScale, shape({x.size(0)})), \
                       (In, groupList), (Out, output, half_columns(x, weight)), (Out, outputScale, shape({x.size(0)})),                \
                       (OptOut, outputOffset, any_shape())) {                                                                          \
        swiglu_of_groups({x, weight, weightScale, xScale}, groupList, 0, output, outputScale);                                         \
    }
GROUPED_SWIGLU(aclnnGroupedMatmulSwigluQuant, Packable)
GROUPED_SWIGLU(aclnnGroupedMatmulSwigluQuantWeightNZ, InBlocks)

#define GROUPED_SWIGLU_V2(entry_point)                                                                                              \
    ATEN_CHECKED_ENTRY(                                                                                                             \
        entry_point, INT8,                                                                                                          \
        (require_no_matrix(weightAssistMatrix), require_not_given("bias", bias), require_not_given("smoothScale", smoothScale),     \
         (QuantisedExperts{x, require_one(weight)[0], require_one_scale(weightScale)[0], xScale})                                   \
             .require("x", "weight", "weightScale", groupList)),                                                                    \
        (In, x), (Packables, weight), (Tensors, weightScale), (OptTensors, weightAssistMatrix), (OptIn, bias),                      \
        (In, xScale, shape({x.size(0)})), (OptIn, smoothScale), (In, groupList), (OnlyZero, dequantMode), (OnlyZero, dequantDtype), \
        (OnlyZero, quantMode), (TrueOrNot, groupListType), (OptInts, tuningConfig), (Out, output, half_columns(x, weight[0])),      \
        (Out, outputScale, shape({x.size(0)}))) {                                                                                   \
        swiglu_of_groups({x, weight[0], weightScale[0], xScale}, groupList, groupListType, output, outputScale);                    \
    }
GROUPED_SWIGLU_V2(aclnnGroupedMatmulSwigluQuantV2)
GROUPED_SWIGLU_V2(aclnnGroupedMatmulSwigluQuantWeightNzV2)

// The versions differ in offsets, which the engine has not got, and in what tunes the hardware.
#define NO_OFFSETS
#define WITH_OFFSETS (OptIn, offset), (OptIn, antiquantScale), (OptIn, antiquantOffset),
#define REQUIRE_NO_OFFSETS                                                                    \
    require_not_given("offset", offset), require_not_given("antiquantScale", antiquantScale), \
        require_not_given("antiquantOffset", antiquantOffset)
#define NO_TUNING
#define WITH_TUNING (OptInts, tuningConfig),

#define FINALIZE_ROUTING(entry_point, Weight, required, offsets, tuning)                                                              \
    ATEN_CHECKED_ENTRY(entry_point, INT8,                                                                                             \
                       (required, require_not_given("bias", bias), require_off("transposeX", transposeX),                             \
                        (QuantisedExperts{x, w, scale, pertokenScale, transposeW}).require("x", "w", "scale", groupList),             \
                        (Finalized{sharedInput, logit, rowIndex, sharedInputWeight, sharedInputOffset}).require(x, y)),               \
                       (In, x), (Weight, w), (In, scale), (OptIn, bias), offsets(OptIn, pertokenScale, shape({x.size(0)})),           \
                       (In, groupList), (OptIn, sharedInput), (OptIn, logit), (OptIn, rowIndex), (OnlyZero, dtype),                   \
                       (Float, sharedInputWeight), (NotNegative, sharedInputOffset), (Bool, transposeX), (Bool, transposeW),          \
                       (TrueOrNot, groupListType), tuning(Out, y, shape({size_of(y, 0), exchanged(w.sizes(), transposeW).back()}))) { \
        const Finalized finalized{sharedInput, logit, rowIndex, sharedInputWeight, sharedInputOffset};                                \
        finalized.run({x, w, scale, pertokenScale, transposeW}, groupList, groupListType, y);                                         \
    }
FINALIZE_ROUTING(aclnnGroupedMatmulFinalizeRouting, Packable, void(), NO_OFFSETS, NO_TUNING)
FINALIZE_ROUTING(aclnnGroupedMatmulFinalizeRoutingWeightNz, InBlocks, void(), NO_OFFSETS, NO_TUNING)
FINALIZE_ROUTING(aclnnGroupedMatmulFinalizeRoutingV2, Packable, (REQUIRE_NO_OFFSETS), WITH_OFFSETS, NO_TUNING)
FINALIZE_ROUTING(aclnnGroupedMatmulFinalizeRoutingV3, Packable, (REQUIRE_NO_OFFSETS), WITH_OFFSETS, WITH_TUNING)
FINALIZE_ROUTING(aclnnGroupedMatmulFinalizeRoutingWeightNzV2, InBlocks, (REQUIRE_NO_OFFSETS), WITH_OFFSETS, WITH_TUNING)
