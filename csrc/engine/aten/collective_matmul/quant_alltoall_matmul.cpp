// Products of matrices of floating point numbers of few bits, which the 950 has, before or behind an exchange of each rank with each other.

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/collective_matmul/alltoall.h"
#include "engine/aten/matmul/matmul.h"
#include "engine/aten/quantization/low_precision_floats.h"

namespace torch_aclnn::host::aten::kind {
using OptPackable = OptionalKind<const aclTensor*, PackableTensor, read_packable>;
using OptPackableOut = OptionalKind<aclTensor*, PackableTensor, read_packable>;
}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/collective_matmul/quant_alltoall_matmul_calls.h"

namespace {

using OptPackable = std::optional<PackableTensor>;

bool has_eight_bits(const PackableTensor& x) {
    return x.float_type() == ACL_FLOAT8_E4M3FN || x.float_type() == ACL_FLOAT8_E5M2;
}

void check(const call::AlltoAllQuantMatmul& a) {
    require_axes(a.alltoAllAxes, {-2, -1});
    require_parts("x1", a.x1.size(0), *a.group);
    if (!has_eight_bits(a.x2)) refuse("x2", "FLOAT8_E4M3FN or FLOAT8_E5M2", to_string(a.x2.float_type()));
    require_expected("x2", a.x2, factor_of(a.x1.size(1) * a.group->size(), a.transposeX2));
    a.group->set_record(OperationKind::all_to_all_matmul, a.x1, -1);
    require_not_given({{"x1Scale", a.x1Scale}, {"commScale", a.commScale}, {"x1Offset", a.x1Offset}, {"x2Offset", a.x2Offset}});
}

// Quantises each row of x to the data type, by the row's largest absolute value.
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
        for (const auto& [name, tensor] : {NamedPackable{x_name, x}, {weight_name, weight}}) {
            const bool right = one ? tensor.float_type() == ACL_HIFLOAT8 : has_eight_bits(tensor) || tensor.float_type() == ACL_FLOAT4_E2M1;
            if (!right) refuse(name, one ? "HIFLOAT8" : "FLOAT8_E4M3FN, FLOAT8_E5M2 or FLOAT4_E2M1", to_string(tensor.float_type()));
        }
        if (x.tensor().size(0) != x.sizes()[0]) refuse(x_name, "four-bit numbers that lie along rows", "along columns");
        require_factors(x_name, x.sizes(), weight_name, weight.sizes());
        for (const auto& [name, tensor] : {NamedPackable{x_scale_name, x_scale}, {weight_scale_name, weight_scale}}) {
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
    // Multiplies rows, which are sorted by expert and have scales, with the weight of each expert.
    at::Tensor of_experts(const at::Tensor& rows, const at::Tensor& scales, at::IntArrayRef counts, int64_t ranks) const {
        const at::Tensor weights = weight.values(), by = weight_scale.values();
        return by_each_expert(weights.size(0), counts, ranks, [&](int64_t expert, int64_t first, int64_t number) {
            const bool mx = mode == kPowersOfTwo;
            return product(rows.narrow(0, first, number), weights[expert], mx ? scales.narrow(0, first, number) : scales,
                           mx ? by[expert] : by);
        });
    }
};

// Returns a tensor that has the sizes alone; nothing for a tensor that is not given.
OptTensor placeholder_of(const OptPackable& tensor) {
    return tensor ? OptTensor(tensor->placeholder()) : std::nullopt;
}

// The experts' product and the one beside it, whose factors are quantised in the same way.
struct FewBitExperts {
    const call::AlltoAllvQuantGroupedMatMul& a;

    bool has_shared() const { return given(placeholder_of(a.mmX)); }
    FewBitFactors experts() const {
        return {"gmmX", "gmmWeight", "gmmXScale", "gmmWeightScale", a.gmmX, a.gmmWeight, a.gmmXScale, a.gmmWeightScale, a.gmmXQuantMode};
    }
    FewBitFactors shared() const {
        if (!a.mmXScale) refuse_null("mmXScale", "a tensor, as there is mmX");
        if (!a.mmWeightScale) refuse_null("mmWeightScale", "a tensor, as there is mmWeight");
        return {"mmX", "mmWeight", "mmXScale", "mmWeightScale", *a.mmX, *a.mmWeight, *a.mmXScale, *a.mmWeightScale, a.gmmXQuantMode};
    }
    void prepare(OperationKind kind) const {
        prepare_experts(kind, a, a.gmmX.placeholder(), a.gmmWeight.placeholder());
        const int64_t mode = a.gmmXQuantMode;
        if (mode != kOneScale && mode != kPowersOfTwo) refuse("gmmXQuantMode", "1 or 6", std::to_string(mode));
        require_between("gmmWeightQuantMode", a.gmmWeightQuantMode, mode, mode);
        if (mode == kOneScale) require_between("groupSize", a.groupSize, 0, 0);
        if (mode == kPowersOfTwo) require_mx_groups(a.groupSize);
        experts().require();
        require_shared({placeholder_of(a.mmX), placeholder_of(a.mmWeight), a.mmY, false});
        const int64_t least = has_shared() ? mode : 0, most = has_shared() ? mode : 7;
        require_between("mmXQuantMode", a.mmXQuantMode, least, most);
        require_between("mmWeightQuantMode", a.mmWeightQuantMode, least, most);
        if (has_shared()) shared().require();
        if (!a.permuteOutFlag || !a.permuteOut) return;
        const at::Tensor& place = a.permuteOut->tensor();
        if (a.permuteOut->float_type() != a.gmmX.float_type() || place.dim() != 2 || place.size(1) != a.gmmX.tensor().size(1))
            refuse("permuteOut", c10::str("rows of ", to_string(a.gmmX.float_type()), ", as gmmX has"),
                   to_string(a.permuteOut->float_type()) + ", " + shape_text(place.sizes()));
    }
    Expected result() const { return shape({total(a.recvCounts), a.gmmWeight.sizes().back()}); }
    IfWanted<> shared_result() const { return shared_shape({placeholder_of(a.mmX), placeholder_of(a.mmWeight), a.mmY, false}); }
    void write_shared() const {
        if (!has_shared()) return;
        const FewBitFactors of = shared();
        write(a.mmY, of.product(of.x.values(), of.weight.values(), of.x_scale.values(), of.weight_scale.values()));
    }
};

}  // namespace

// The features of all ranks are in floating point, and each row is quantised by its largest number. The scales apply before the bias.
static void compute(const call::AlltoAllQuantMatmul& a) {
    const at::Tensor all = features_of_ranks(a.group, a.x1);
    const DynamicallyQuantised rows = quantise_to(all, static_cast<aclDataType>(a.x1QuantDtype));
    const at::Tensor product = at::matmul(rows.numbers, exchanged(a.x2.values(), a.transposeX2)) * rows.scale.unsqueeze(1);
    write(a.output, plus(product * to_double(a.x2Scale), a.bias));
    write(a.alltoAllOut, given(a.alltoAllOut) ? all : at::Tensor());
}
// The ranks exchange the scales of rows, too, if there are some.
static void compute(const call::AlltoAllvQuantGroupedMatMul& a) {
    const FewBitFactors experts = FewBitExperts{a}.experts();
    const at::Tensor scales = a.gmmXScale.values();
    const at::Tensor by = experts.mode == kPowersOfTwo ? rows_for_experts(a, scales) : scales;
    write(a.gmmY, experts.of_experts(rows_for_experts(a, a.gmmX.values()), by, a.recvCounts, a.epWorldSize));
    if (a.permuteOutFlag && a.permuteOut) a.permuteOut->tensor().copy_(rows_for_experts(a, a.gmmX.tensor()));
    FewBitExperts{a}.write_shared();
}
static void send_products(const call::AlltoAllvQuantGroupedMatMul& a) {
    const at::Tensor products = FewBitExperts{a}.experts().of_experts(a.gmmX.values(), a.gmmXScale.values(), a.sendCounts, a.epWorldSize);
    write(a.y, rows_for_ranks(a, products));
    FewBitExperts{a}.write_shared();
}
