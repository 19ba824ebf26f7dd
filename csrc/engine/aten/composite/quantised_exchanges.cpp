// Products of matrices of floating point numbers of few bits, which the 950 has, before or behind an exchange of each rank with each other.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/exchanges.h"
#include "engine/aten/composite/expert_parallel.h"
#include "engine/aten/composite/few_bit_floats.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "products over ranks"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::OperationKind;
using torch_aclnn::host::refuse;
using torch_aclnn::host::refuse_null;
using OptTensor = std::optional<at::Tensor>;
using OptPackable = std::optional<PackableTensor>;

bool has_eight_bits(const PackableTensor& x) {
    return x.float_type() == ACL_FLOAT8_E4M3FN || x.float_type() == ACL_FLOAT8_E5M2;
}

void prepare_quantised_features(const RanksGroup& group, const at::Tensor& x1, const PackableTensor& x2, bool turn, const OptAxes& axes) {
    require_rows_for_ranks(group, x1, axes);
    if (!has_eight_bits(x2)) refuse("x2", "FLOAT8_E4M3FN or FLOAT8_E5M2", torch_aclnn::host::to_string(x2.float_type()));
    const std::vector<int64_t> sizes = exchanged(x2.sizes(), turn);
    if (sizes.size() != 2 || sizes[0] != x1.size(1) * group->size())
        refuse("x2", c10::str("2 dimensions, and ", x1.size(1) * group->size(), " rows like the columns of x1 of all ranks"),
               shape_text(at::IntArrayRef(sizes)));
    group->set_record(OperationKind::all_to_all_matmul, x1, -1);
}

// Each row of x by its own largest number, in the data type.
DynamicallyQuantised quantise_to(const at::Tensor& x, aclDataType dtype) {
    DynamicallyQuantised rows = quantise_rows(to_double(x), static_cast<int64_t>(largest_of(dtype)));
    rows.numbers = decoded(encoded(rows.numbers, dtype, "rint"), dtype);
    return rows;
}

// Two matrices of few bits with one scale each (HIFLOAT8), or with powers of two for their blocks (MX).
constexpr int64_t kOneScale = 1, kPowersOfTwo = 6;
struct FewBitFactors {
    const char *x_name, *weight_name, *x_scale_name, *weight_scale_name;
    const PackableTensor &x, &weight, &x_scale, &weight_scale;
    int64_t mode;

    void require() const {
        const bool one = mode == kOneScale;
        for (const auto& [name, tensor] : {std::pair<const char*, const PackableTensor&>{x_name, x}, {weight_name, weight}}) {
            const bool right = one ? tensor.float_type() == ACL_HIFLOAT8 : has_eight_bits(tensor) || tensor.float_type() == ACL_FLOAT4_E2M1;
            if (!right)
                refuse(name, one ? "HIFLOAT8" : "FLOAT8_E4M3FN, FLOAT8_E5M2 or FLOAT4_E2M1",
                       torch_aclnn::host::to_string(tensor.float_type()));
        }
        if (x.tensor().size(0) != x.sizes()[0]) refuse(x_name, "four-bit numbers that lie along rows", "along columns");
        require_factors(x_name, x.sizes(), weight_name, weight.sizes());
        for (const auto& [name, tensor] :
             {std::pair<const char*, const PackableTensor&>{x_scale_name, x_scale}, {weight_scale_name, weight_scale}}) {
            if (!one) require_mx_scale(name, tensor);
            if (one && tensor.scalar_type() != at::kFloat) refuse(name, "FLOAT", c10::str(tensor.scalar_type()));
        }
        require_expected(x_scale_name, x_scale, one ? shape({1}) : mx_scales(x.sizes(), -1));
        require_expected(weight_scale_name, weight_scale, one ? shape({1}) : mx_scales(weight.sizes(), -2));
    }
    at::Tensor product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& left_scale, const at::Tensor& right_scale) const {
        if (mode == kPowersOfTwo) return mx_product(left, right, left_scale, right_scale);
        return at::matmul(left, right) * to_double(left_scale) * to_double(right_scale);
    }
    // Of rows in the order of experts, with their scales.
    at::Tensor of_experts(const at::Tensor& rows, const at::Tensor& scales, at::IntArrayRef counts, int64_t ranks) const {
        const at::Tensor weights = weight.values(), by = weight_scale.values();
        return by_each_expert(weights.size(0), counts, ranks, [&](int64_t expert, int64_t first, int64_t number) {
            const bool mx = mode == kPowersOfTwo;
            return product(rows.narrow(0, first, number), weights[expert], mx ? scales.narrow(0, first, number) : scales,
                           mx ? by[expert] : by);
        });
    }
};

// The sizes alone; nothing of a tensor that is not given.
OptTensor placeholder_of(const OptPackable& tensor) {
    return tensor ? OptTensor(tensor->placeholder()) : std::nullopt;
}

// The experts' product and the one beside it, whose factors are quantised in the same way.
constexpr std::pair<int64_t, int64_t> kAnyMode{0, 7};
struct QuantModes {
    int64_t x, weight, shared_x, shared_weight;
};
struct FewBitExperts {
    FewBitFactors experts;
    const OptPackable &x, &weight, &x_scale, &weight_scale;
    const OptTensor& y;

    bool has_shared() const { return given(placeholder_of(x)); }
    FewBitFactors shared() const {
        if (!x_scale) refuse_null("mmXScale", "a tensor, as there is mmX");
        if (!weight_scale) refuse_null("mmWeightScale", "a tensor, as there is mmWeight");
        return {"mmX", "mmWeight", "mmXScale", "mmWeightScale", *x, *weight, *x_scale, *weight_scale, experts.mode};
    }
    void require(const QuantModes& modes, int64_t groups) const {
        const int64_t mode = experts.mode;
        if (mode != kOneScale && mode != kPowersOfTwo) refuse("gmmXQuantMode", "1 or 6", std::to_string(mode));
        require_between("gmmWeightQuantMode", modes.weight, mode, mode);
        if (mode == kOneScale) require_between("groupSize", groups, 0, 0);
        if (mode == kPowersOfTwo) require_mx_groups(groups);
        experts.require();
        require_shared({placeholder_of(x), placeholder_of(weight), y, false});
        const auto [least, most] = has_shared() ? std::pair{mode, mode} : kAnyMode;
        require_between("mmXQuantMode", modes.shared_x, least, most);
        require_between("mmWeightQuantMode", modes.shared_weight, least, most);
        if (has_shared()) shared().require();
    }
    void write_shared() const {
        if (!has_shared()) return;
        const FewBitFactors of = shared();
        write(y, of.product(of.x.values(), of.weight.values(), of.x_scale.values(), of.weight_scale.values()));
    }
};
// Of the rows' own codes.
void require_codes_of(const PackableTensor& x, const OptPackable& out) {
    if (!out) return;
    const at::Tensor &codes = x.tensor(), &place = out->tensor();
    if (out->float_type() != x.float_type() || place.dim() != 2 || place.size(1) != codes.size(1))
        refuse("permuteOut", c10::str("rows of ", torch_aclnn::host::to_string(x.float_type()), ", as gmmX has"),
               torch_aclnn::host::to_string(out->float_type()) + ", " + shape_text(place.sizes()));
}
// What the ranks exchange: the scales of rows, too, where rows have some.
template <class Exchange>
at::Tensor with_rows(const FewBitFactors& factors, Exchange exchange) {
    const at::Tensor scales = factors.x_scale.values();
    return factors.mode == kPowersOfTwo ? exchange(scales) : scales;
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using DynamicRowsMode = Between<int64_t, 7, 7>;
using ColumnsMode = Between<int64_t, 2, 2>;
using OrMinusOne = Between<int64_t, -1, kUnbounded>;
using EightBitNumber = Between<int64_t, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN>;
using OptPackable = OptionalKind<const aclTensor*, PackableTensor, read_packable>;
using OptPackableOut = OptionalKind<aclTensor*, PackableTensor, read_packable>;
}  // namespace torch_aclnn::host::aten::kind

// The features of all ranks in floating point, of which each row is quantised by its largest number. The scales apply before the bias.
#define COLUMNS exchanged(x2.sizes(), transposeX2).back()
#define QUANTISED_FEATURES(entry_point, ...)                                                                                           \
    ATEN_CHECKED_ENTRY(                                                                                                                \
        entry_point, FLOAT16 | BF16,                                                                                                   \
        (prepare_quantised_features(group, x1, x2, transposeX2, alltoAllAxes), require_not_given("x1Scale", x1Scale),                  \
         require_not_given("commScale", commScale), require_not_given("x1Offset", x1Offset), require_not_given("x2Offset", x2Offset)), \
        (In, x1), (FewBits, x2), (OptIn, bias, or_empty(shape({COLUMNS}))), (OptIn, x1Scale), (In, x2Scale, shape({COLUMNS})),         \
        (OptIn, commScale), (OptIn, x1Offset), (OptIn, x2Offset), (CommGroup, group), __VA_ARGS__(OptInts, alltoAllAxes),              \
        (DynamicRowsMode, x1QuantMode), (ColumnsMode, x2QuantMode), (Zero, commonQuantMode), (OrMinusOne, commQuantDtype),             \
        (EightBitNumber, x1QuantDtype), (Zero, groupSize), (NotTransposed, transposeX1), (Bool, transposeX2),                          \
        (Out, output, shape({x1.size(0) / group->size(), COLUMNS})),                                                                   \
        (OptOut, alltoAllOut, or_empty(shape({x1.size(0) / group->size(), x1.size(1) * group->size()})))) {                            \
        const at::Tensor all = features_of_ranks(group, x1);                                                                           \
        const DynamicallyQuantised rows = quantise_to(all, static_cast<aclDataType>(x1QuantDtype));                                    \
        const at::Tensor product = at::matmul(rows.numbers, exchanged(x2.values(), transposeX2)) * rows.scale.unsqueeze(1);            \
        write(output, given(bias) ? product * to_double(x2Scale) + to_double(*bias) : product * to_double(x2Scale));                   \
        write(alltoAllOut, given(alltoAllOut) ? all : at::Tensor());                                                                   \
    }
QUANTISED_FEATURES(aclnnAlltoAllQuantMatmul)
QUANTISED_FEATURES(aclnnAlltoAllQuantMatmulV2, (CommMode, commMode), )

#define FEW_BIT_OPERANDS                                                                                                   \
    (Packable, gmmX), (Packable, gmmWeight), (Packable, gmmXScale), (Packable, gmmWeightScale), (OptIn, sendCountsTensor), \
        (OptIn, recvCountsTensor), (OptPackable, mmX), (OptPackable, mmWeight), (OptPackable, mmXScale), (OptPackable, mmWeightScale)
#define QUANT_MODES (Int, gmmXQuantMode), (Int, gmmWeightQuantMode), (Int, mmXQuantMode), (Int, mmWeightQuantMode)
#define FEW_BIT_COUNTS \
    (Positive, epWorldSize), (Ints, sendCounts), (Ints, recvCounts), (NotTransposed, transGmmWeight), (NotTransposed, transMmWeight)
#define FEW_BIT_EXPERTS                                                                                                                 \
    FewBitExperts {                                                                                                                     \
        {"gmmX", "gmmWeight", "gmmXScale", "gmmWeightScale", gmmX, gmmWeight, gmmXScale, gmmWeightScale, gmmXQuantMode}, mmX, mmWeight, \
            mmXScale, mmWeightScale, mmY                                                                                                \
    }
#define REQUIRE_FEW_BITS(kind)                                                                                                            \
    (prepare_experts(OperationKind::kind, group, gmmX.placeholder(), gmmWeight.placeholder(), false, epWorldSize, sendCounts, recvCounts, \
                     sendCountsTensor, recvCountsTensor),                                                                                 \
     FEW_BIT_EXPERTS.require({gmmXQuantMode, gmmWeightQuantMode, mmXQuantMode, mmWeightQuantMode}, groupSize))
#define FEW_BIT_RESULT(y) (Out, y, shape({total(recvCounts), gmmWeight.sizes().back()}))
#define FEW_BIT_SHARED (OptOut, mmY, shared_shape({placeholder_of(mmX), placeholder_of(mmWeight), mmY, false}))

#define FEW_BIT_ROWS_AND_EXPERTS(entry_point, ...)                                                                               \
    ATEN_CHECKED_ENTRY(                                                                                                          \
        entry_point, ANY_FEW_BITS,                                                                                               \
        (REQUIRE_FEW_BITS(all_to_all_v_grouped_matmul), require_codes_of(gmmX, permuteOutFlag ? permuteOut : OptPackable())),    \
        FEW_BIT_OPERANDS, QUANT_MODES, (CommGroup, group), __VA_ARGS__ FEW_BIT_COUNTS, (Int, groupSize), (Bool, permuteOutFlag), \
        FEW_BIT_RESULT(gmmY), FEW_BIT_SHARED,                                                                                    \
        (OptPackableOut, permuteOut, if_wanted(permuteOutFlag, shape({total(recvCounts), gmmX.sizes()[1]})))) {                  \
        const auto spread = [&](const at::Tensor& rows) {                                                                        \
            return rows_for_experts(group, rows, sendCounts, recvCounts, gmmWeight.sizes()[0]);                                  \
        };                                                                                                                       \
        const FewBitExperts of = FEW_BIT_EXPERTS;                                                                                \
        write(gmmY, of.experts.of_experts(spread(gmmX.values()), with_rows(of.experts, spread), recvCounts, epWorldSize));       \
        if (permuteOutFlag && permuteOut) permuteOut->tensor().copy_(spread(gmmX.tensor()));                                     \
        of.write_shared();                                                                                                       \
    }
FEW_BIT_ROWS_AND_EXPERTS(aclnnAlltoAllvQuantGroupedMatMul)
FEW_BIT_ROWS_AND_EXPERTS(aclnnAlltoAllvQuantGroupedMatMulV2, (CommMode, commMode), )

#define FEW_BIT_EXPERTS_AND_ROWS(entry_point, ...)                                                                                  \
    ATEN_CHECKED_ENTRY(entry_point, ANY_FEW_BITS,                                                                                   \
                       (REQUIRE_FEW_BITS(grouped_matmul_all_to_all_v), require_not_given("commQuantScale", commQuantScale)),        \
                       FEW_BIT_OPERANDS, (OptIn, commQuantScale), QUANT_MODES, (Zero, commQuantMode), (OrMinusOne, commQuantDtype), \
                       (Int, groupSize), (CommGroup, group), __VA_ARGS__ FEW_BIT_COUNTS, FEW_BIT_RESULT(y), FEW_BIT_SHARED) {       \
        const FewBitExperts of = FEW_BIT_EXPERTS;                                                                                   \
        const at::Tensor products = of.experts.of_experts(gmmX.values(), gmmXScale.values(), sendCounts, epWorldSize);              \
        write(y, rows_for_ranks(group, products, sendCounts, recvCounts, gmmWeight.sizes()[0]));                                    \
        of.write_shared();                                                                                                          \
    }
FEW_BIT_EXPERTS_AND_ROWS(aclnnQuantGroupedMatMulAlltoAllv)
FEW_BIT_EXPERTS_AND_ROWS(aclnnQuantGroupedMatMulAlltoAllvV2, (CommMode, commMode), )
