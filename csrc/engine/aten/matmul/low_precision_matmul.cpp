// Products of matrices of floating point numbers of few bits, which the 950 has alone, and what prepares their weights.

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/matmul/matmul.h"
#include "engine/aten/quantization/low_precision_floats.h"

using namespace torch_aclnn::host::aten;

namespace {

// Sums over groups of the columns of x1 and of the rows of x2.
struct SumsOfGroups {
    const PackableTensor &x1, &x2;
    const OptTensor& scale1;
    const at::Tensor &scale2, &list;

    void require() const {
        require_factors("x1", x1.sizes(), "x2", x2.sizes());
        const auto check_type = [](const char* name, const at::Tensor& scale) {
            if (scale.scalar_type() != at::kFloat)
                refuse(name, "FLOAT: the engine has no powers of two for groups", c10::str(scale.scalar_type()));
        };
        check_type("scale2", scale2);
        if (given(scale1)) check_type("scale1", *scale1);
    }
    Expected sums() const { return shape({list.numel(), x1.sizes()[0], x2.sizes()[1]}); }
    void add_to(const at::Tensor& y, int64_t list_type) const {
        const at::Tensor left = x1.values(), right = x2.values();
        for (const Range& group : groups_of(numbers(list), list_type, left.size(1), y.size(0))) {
            at::Tensor sum = at::matmul(left.narrow(1, group.first, group.size), right.narrow(0, group.first, group.size));
            sum = sum * to_double(scale2[group.weight]);
            if (given(scale1)) sum = sum * to_double(scale1->flatten()[group.weight]);
            write(y[group.weight], sum + to_double(y[group.weight]));
        }
    }
};

// Numbers of FLOAT4_E2M1, of which torch_npu passes two as one of INT8.
std::vector<int64_t> sizes_in_numbers(const PackableTensor& x) {
    std::vector<int64_t> sizes = x.sizes();
    if (!x.is_floating()) sizes.back() *= 2;
    return sizes;
}
at::Tensor four_bit_values(const PackableTensor& x) {
    if (x.is_floating()) return x.values();
    const at::Tensor bytes = x.values().contiguous().view(at::kByte);
    const at::Tensor codes = at::stack({at::bitwise_and(bytes, 15), at::bitwise_right_shift(bytes, 4)}, -1).flatten(-2);
    return decoded(codes, ACL_FLOAT4_E2M1);
}

// Each 512 numbers have a scale of FLOAT beside the powers of two for each 32, of x1 and of the transposed x2.
constexpr int64_t kLevel0 = 512;
struct DualLevels {
    const PackableTensor &x1, &x2, &level1_of_x1, &level1_of_x2;
    const at::Tensor &level0_of_x1, &level0_of_x2;

    std::vector<int64_t> other() const { return sizes_in_numbers(x2); }
    void require(bool transposed, int64_t block0, int64_t block1) const {
        if (!transposed) refuse("transposeX2", "true, the only value that torch_npu passes", "false");
        require_between("level0GroupSize", block0, kLevel0, kLevel0);
        require_between("level1GroupSize", block1, kMxBlock, kMxBlock);
        if (x1.float_type() != ACL_FLOAT4_E2M1) refuse("x1", "FLOAT4_E2M1", to_string(x1.float_type()));
        if (x2.is_floating() ? x2.float_type() != ACL_FLOAT4_E2M1 : x2.scalar_type() != at::kChar || x2.has_four_bits())
            refuse("x2", "FLOAT4_E2M1, or two in one of INT8", c10::str(x2.scalar_type()));
        require_factors("x1", x1.sizes(), "x2", exchanged(other(), true));
        require_mx_scale("x1Level1Scale", level1_of_x1);
        require_mx_scale("x2Level1Scale", level1_of_x2);
        require_expected("x1Level1Scale", level1_of_x1, mx_scales(x1.sizes(), -1));
        require_expected("x2Level1Scale", level1_of_x2, mx_scales(other(), -1));
    }
    int64_t blocks() const { return (x1.sizes()[1] + kLevel0 - 1) / kLevel0; }
    at::Tensor product() const {
        const int64_t size = x1.sizes()[1];
        const auto each = [&](const at::Tensor& scale, int64_t axis) {
            return to_double(scale).repeat_interleave(kLevel0, axis).narrow(axis, 0, size);
        };
        return mx_product(x1.values() * each(level0_of_x1, 1), four_bit_values(x2).t() * each(level0_of_x2, 0), level1_of_x1.values(),
                          level1_of_x2.values().transpose(0, 1));
    }
};

template <aclDataType wanted>
aclDataType read_only_type(const char* name, aclDataType dtype) {
    if (dtype != wanted) refuse(name, to_string(wanted), to_string(dtype));
    return dtype;
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using InBlocksOut = Kind<aclTensor*, PackableTensor, const PackableTensor&, read_in_blocks>;
using MatmulType = Kind<aclDataType, aclDataType, aclDataType, read_only_type<ACL_FLOAT8_E4M3FN>>;
using MatmulScaleType = Kind<aclDataType, aclDataType, aclDataType, read_only_type<ACL_FLOAT8_E8M0>>;
}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/matmul/low_precision_matmul_calls.h"

static void compute(const call::DualLevelQuantMatmulWeightNz& a) {
    const DualLevels levels{a.x1, a.x2, a.x1Level1Scale, a.x2Level1Scale, a.x1Level0Scale, a.x2Level0Scale};
    write(a.out, plus(levels.product(), a.bias));
}

static void check(const call::WeightQuantPreprocess& a) {
    for (const auto& [name, tensor] : {NamedPackable{"weight", a.weight}, {"outWeight", a.outWeight}})
        if (tensor.float_type() != ACL_FLOAT4_E2M1) refuse(name, "FLOAT4_E2M1", to_string(tensor.float_type()));
    if (a.kGroupSize != 0) require_between("kGroupSize", a.kGroupSize, kMxBlock, kMxBlock);
    require_mx_scale("weightScale", a.weightScale);
    require_mx_scale("outWeightScale", a.outWeightScale);
    require_not_given({{"weightOffset", a.weightOffset}, {"bias", a.bias}});
}
// Converts the weight to FRACTAL_NZ, and copies its scale.
static void compute(const call::WeightQuantPreprocess& a) {
    a.outWeight.store(a.weight.values());
    a.outWeightScale.tensor().copy_(a.weightScale.tensor());
}
