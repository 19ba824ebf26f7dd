// Quantisation to floating point numbers of few bits, where blocks of values have a power of two as their scale (MX): the OCP's algorithm,
// which divides by 2^(floor(log2(largest)) - emax). The scales of two blocks lie side by side, in a last dimension of 2.

#include "engine/aten/quantization/mx_quantization.h"
#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/groups.h"
#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/pointwise/gated.h"
#include "engine/aten/quantization/low_precision_floats.h"

using namespace torch_aclnn::host::aten;

namespace {

// Reads the lower half of an int64, as read_quantised_number() does.
aclDataType read_few_bit_number(const char* name, int64_t number) {
    const auto dtype = static_cast<aclDataType>(static_cast<int32_t>(number));
    if (!is_few_bit_float(dtype)) refuse(name, "a floating point type of eight or four bits", to_string(dtype));
    return dtype;
}

// The result's type is named, and numbers of eight bits are rounded to the nearest only.
void require_mx_type(const char* name, const PackableTensor& y, aclDataType named, std::string_view rounding) {
    const aclDataType dtype = y.float_type();
    if (dtype == ACL_HIFLOAT8 || dtype == ACL_FLOAT8_E8M0)
        refuse(name, "FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT4_E2M1 or FLOAT4_E1M2", to_string(dtype));
    if (named != dtype) refuse("dstType", c10::str("that of ", name, ", ", int{dtype}), std::to_string(int{named}));
    if (!has_half_a_byte(dtype) && rounding != "rint")
        refuse("roundMode", c10::str("rint, as ", name, " has eight bits"), std::string(rounding));
}

int64_t mx_blocks(int64_t size, int64_t block) {
    return (size + block - 1) / block;
}
// Returns {..., blocks, block}, with the last block filled up with zeros.
at::Tensor in_mx_blocks(const at::Tensor& x, int64_t axis, int64_t block) {
    const at::Tensor last = x.movedim(axis, -1);
    return at::constant_pad_nd(last, {0, mx_blocks(last.size(-1), block) * block - last.size(-1)}).unflatten(-1, {-1, block});
}
at::Tensor out_of_mx_blocks(const at::Tensor& blocks, int64_t axis, int64_t size) {
    return blocks.flatten(-2).narrow(-1, 0, size).movedim(-1, axis);
}
// Returns floor(log2(x)), and the lowest exponent of a scale for zero.
at::Tensor exponents_of(const at::Tensor& x) {
    const at::Tensor exponent = std::get<1>(at::frexp(x)).to(at::kDouble) - 1;
    return exponent.masked_fill(x == 0, -1000);
}

// Returns the power of two of each block of x along the axis.
at::Tensor mx_exponents(const at::Tensor& x, int64_t axis, int64_t block, aclDataType dtype) {
    return (exponents_of(in_mx_blocks(x, axis, block).abs().amax(-1)) - largest_exponent(dtype)).clamp(-127, 127);
}
// Multiplies x by the powers of two of its blocks, or divides by them.
at::Tensor by_mx_exponents(const at::Tensor& x, const at::Tensor& exponents, int64_t axis, int64_t block) {
    const at::Tensor scaled = in_mx_blocks(x, axis, block) * at::exp2(exponents).unsqueeze(-1);
    return out_of_mx_blocks(scaled, axis, x.size(axis));
}
void store_exponents(const at::Tensor& exponents, int64_t axis, const PackableTensor& scale) {
    const at::Tensor pairs = at::constant_pad_nd(exponents, {0, exponents.size(-1) % 2}, -127).unflatten(-1, {-1, 2});
    scale.store(at::exp2(pairs.movedim(-2, from_front(axis, exponents.dim()))));
}
// Returns the exponents of the blocks of `size` values along the axis.
at::Tensor loaded_exponents(const at::Tensor& scales, int64_t axis, int64_t size) {
    const at::Tensor pairs = scales.movedim(from_front(axis, scales.dim() - 1), -2).flatten(-2);
    return at::log2(pairs.narrow(-1, 0, mx_blocks(size, kMxBlock)));
}

void mx_quantise(const at::Tensor& x, int64_t axis, int64_t block, std::string_view rounding, const PackableTensor& y,
                 const PackableTensor& scale) {
    const at::Tensor exponents = mx_exponents(x, axis, block, y.float_type());
    y.store(by_mx_exponents(x, -exponents, axis, block), rounding);
    store_exponents(exponents, axis, scale);
}

at::Tensor mx_gated_gradient(const at::Tensor& x, const at::Tensor& grad, bool left) {
    const std::vector<at::Tensor> halves = to_double(x).chunk(2, -1);
    const at::Tensor &gate = halves[left ? 0 : 1], &linear = halves[left ? 1 : 0], sigmoid = at::sigmoid(gate);
    const at::Tensor of_gate = to_double(grad) * linear * sigmoid * (1 + gate * (1 - sigmoid)),
                     of_linear = to_double(grad) * gate * sigmoid;
    return at::cat(left ? at::TensorList{of_gate, of_linear} : at::TensorList{of_linear, of_gate}, -1);
}

struct DualAxis {
    const PackableTensor &y1, &scale1, &y2, &scale2;

    void require(aclDataType dtype, std::string_view rounding) const {
        require_mx_type("y1", y1, dtype, rounding);
        require_mx_type("y2", y2, dtype, rounding);
        require_mx_scale("mxscale1", scale1);
        require_mx_scale("mxscale2", scale2);
    }
    void run(const at::Tensor& x, std::string_view rounding) const {
        mx_quantise(x, -1, kMxBlock, rounding, y1, scale1);
        mx_quantise(x, -2, kMxBlock, rounding, y2, scale2);
    }
};

struct QuantMax {
    const at::Tensor &x, &scale;

    void require(const PackableTensor& y, aclDataType dtype, std::string_view rounding) const {
        if (x.dim() < 1) refuse("x", "at least 1 dimension", "none");
        if (y.float_type() != dtype || dtype == ACL_FLOAT8_E8M0 || has_half_a_byte(dtype))
            refuse("dstType", c10::str("that of y, of eight bits, ", int{y.float_type()}), std::to_string(int{dtype}));
        const std::string_view expected = dtype == ACL_HIFLOAT8 ? "round" : "rint";
        if (rounding != expected) refuse("roundMode", std::string(expected), std::string(rounding));
    }
    // Quantises each group of rows by its scale; the largest number of a group without rows is 0.
    void run(const std::vector<Range>& groups, std::string_view rounding, const PackableTensor& y, at::Tensor& amax) const {
        at::Tensor numbers = to_double(x).clone();
        for (const Range& group : groups) {
            at::Tensor rows = numbers.narrow(0, group.first, group.size);
            amax[group.weight].copy_(rows.numel() == 0 ? at::zeros({}, at::kDouble) : rows.abs().amax());
            rows.div_(to_double(scale.select(0, group.weight)));
        }
        y.store(numbers, rounding);
    }
};

// Quantises groups of rows, each of which has scales of its own.
void mx_quantise_groups(at::Tensor x, const std::vector<Range>& groups, std::string_view rounding, const PackableTensor& y,
                        const PackableTensor& scale) {
    at::Tensor all = at::full({2 * scale.sizes()[0], x.size(1)}, -127, at::kDouble);
    for (const Range& group : groups) {
        if (group.size == 0) continue;
        at::Tensor rows = x.narrow(0, group.first, group.size);
        const at::Tensor exponents = mx_exponents(rows, 0, kMxBlock, y.float_type());
        all.narrow(0, 2 * (group.first / (2 * kMxBlock) + group.weight), exponents.size(-1)).copy_(exponents.t());
        rows.copy_(by_mx_exponents(rows, -exponents, 0, kMxBlock));
    }
    y.store(x, rounding);
    scale.store(at::exp2(all.unflatten(0, {-1, 2}).transpose(1, 2)));
}

// Each block of rows and columns has a scale, where the blocks of rows begin anew with each group: the block's largest number by that of
// the type, but at most 1 by the smallest. A group's scales lie as those of grouped MX quantisation do.
struct GroupedBlocks {
    const at::Tensor &x, &ends;
    double smallest;
    int64_t rows, columns;
    double limit;

    void require(const PackableTensor& y, aclDataType dtype, std::string_view rounding) const {
        if (x.dim() != 2 && x.dim() != 3) refuse("x", "2 or 3 dimensions", shape_text(x.sizes()));
        if (rows != 1 && rows != 128 && rows != 256 && rows != 512) refuse("rowBlockSize", "1, 128, 256 or 512", std::to_string(rows));
        if (columns % 64 != 0 || columns > 256) refuse("colBlockSize", "64, 128, 192 or 256", std::to_string(columns));
        QuantMax{x, x}.require(y, dtype, rounding);
        require_number_between("dstTypeMax", limit, 0, dtype == ACL_HIFLOAT8 ? largest_of(dtype) : 0);
    }
    Expected scales() const {
        return with_size(with_size(x.sizes(), -2, x.size(-2) / rows + ends.numel()).sizes, -1, mx_blocks(x.size(-1), columns));
    }
    void run(std::string_view rounding, const PackableTensor& y, at::Tensor& scale) const {
        at::Tensor values = to_double(x).clone(), all = at::zeros(scale.sizes(), at::kDouble);
        const double largest = limit == 0 ? largest_of(y.float_type()) : limit;
        for (const Range& group : groups_of(numbers(ends), 0, x.size(-2), ends.numel())) {
            if (group.size == 0) continue;
            at::Tensor part = values.narrow(-2, group.first, group.size);
            const int64_t high = mx_blocks(group.size, rows), wide = all.size(-1);
            const at::Tensor filled = at::constant_pad_nd(part.abs(), {0, wide * columns - x.size(-1), 0, high * rows - group.size});
            const at::Tensor of_blocks = filled.unflatten(-1, {wide, columns}).amax(-1).unflatten(-2, {high, rows}).amax(-2) / largest;
            const at::Tensor scales = of_blocks.clamp_max(1 / smallest);
            all.narrow(-2, group.first / rows + group.weight, high).copy_(scales);
            const at::Tensor spread = scales.repeat_interleave(rows, -2).repeat_interleave(columns, -1);
            const at::Tensor by = spread.narrow(-2, 0, group.size).narrow(-1, 0, x.size(-1));
            part.div_(at::where(by == 0, at::ones_like(by), by));
        }
        write(scale, all);
        y.store(values, rounding);
    }
};

Elements elements_of(const OptTensor& list) {
    return elements(list ? list->numel() : 0);
}

}  // namespace

namespace torch_aclnn::host::aten {

PackableTensor read_few_bits(const char* name, const aclTensor* handle) {
    require_handle(name, handle);
    if (!is_few_bit_float(handle->dtype)) refuse(name, "a floating point type of eight or four bits", to_string(handle->dtype));
    return {name, handle};
}

void require_mx_scale(const char* name, const PackableTensor& scale) {
    if (scale.float_type() != ACL_FLOAT8_E8M0) refuse(name, "a data type of FLOAT8_E8M0", to_string(scale.float_type()));
}

Expected mx_scales(at::IntArrayRef sizes, int64_t axis, int64_t block) {
    if (sizes.empty()) refuse("x", "at least 1 dimension", "none");
    Expected expected = with_size(sizes, axis, (mx_blocks(sizes[from_front(axis, sizes.size())], block) + 1) / 2);
    expected.sizes.push_back(2);
    return expected;
}

void require_mx_groups(int64_t groups) {
    constexpr int64_t kGroups = (int64_t{1} << 32) + (int64_t{1} << 16) + kMxBlock;
    if (groups != 0 && groups != kGroups) refuse("groupSize", "0, or 1, 1 and 32", std::to_string(groups));
}

at::Tensor mx_product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& scale1, const at::Tensor& scale2) {
    const at::Tensor rows = by_mx_exponents(left, loaded_exponents(scale1, -1, left.size(-1)), -1, kMxBlock);
    return at::matmul(rows, by_mx_exponents(right, loaded_exponents(scale2, -2, right.size(-2)), -2, kMxBlock));
}

}  // namespace torch_aclnn::host::aten

namespace torch_aclnn::host::aten::kind {
using FewBitNumber = Kind<int64_t, aclDataType, aclDataType, read_few_bit_number>;
}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/quantization/mx_quantization_calls.h"

static DualAxis dual_axis(const auto& a) {
    return {a.y1, a.mxscale1, a.y2, a.mxscale2};
}
static GroupedBlocks grouped_blocks(const call::GroupedDynamicBlockQuant& a) {
    return {a.x, a.groupList, a.minScale, a.rowBlockSize, a.colBlockSize, a.dstTypeMax};
}

static void check(const call::DynamicMxQuant& a) {
    require_mx_type("y", a.y, a.dstType, a.roundMode);
    require_mx_scale("mxscale", a.mxscale);
    if (a.blocksize > 1024 || a.blocksize % kMxBlock != 0) refuse("blocksize", "a multiple of 32 up to 1024", std::to_string(a.blocksize));
}
static void compute(const call::AntiMxQuant& a) {
    const at::Tensor numbers = a.x.values();
    write(a.y, by_mx_exponents(numbers, loaded_exponents(a.mxscale.values(), a.axis, numbers.size(a.axis)), a.axis, kMxBlock));
}

static void check(const call::DynamicDualLevelMxQuant& a) {
    require_not_given("smoothScale", a.smoothScale);
    require_mx_type("y", a.y, ACL_FLOAT4_E2M1, a.roundMode);
    require_mx_scale("level1Scale", a.level1Scale);
    require_between("level0BlockSize", a.level0BlockSize, 512, 512);
    require_between("level1BlockSize", a.level1BlockSize, kMxBlock, kMxBlock);
}
// Each 512 values have a scale of FLOAT, by which the largest becomes that of FLOAT4_E2M1; the quotients are rounded to the type of x.
static void compute(const call::DynamicDualLevelMxQuant& a) {
    const at::Tensor blocks = in_mx_blocks(to_double(a.x), -1, 512);
    const at::Tensor scale = blocks.abs().amax(-1) / largest_of(ACL_FLOAT4_E2M1);
    const at::Tensor scaled = blocks / at::where(scale == 0, at::ones_like(scale), scale).unsqueeze(-1);
    write(a.level0Scale, scale);
    mx_quantise(to_double(out_of_mx_blocks(scaled, -1, a.x.size(-1)).to(a.x.scalar_type())), -1, kMxBlock, a.roundMode, a.y, a.level1Scale);
}

// Groups matter where blocks lie across rows; the engine has only blocks along the last dimension here.
static void compute(const call::SwigluMxQuant& a) {
    const at::Tensor unit =
        a.swigluMode == 1 ? swiglu_by_pairs(to_double(a.x), a.clampLimit, a.gluAlpha, a.gluBias) : swiglu(to_double(a.x), a.activateLeft);
    mx_quantise(unit, -1, kMxBlock, a.roundMode, a.y, a.mxscale);
}

static void compute(const call::RmsNormDynamicMxQuant& a) {
    const RmsNormal result = rms_normal(to_double(a.x), a.gamma, a.epsilon);
    mx_quantise(plus(result.normal * to_double(a.gamma), a.beta), -1, kMxBlock, a.roundMode, a.y, a.mxscale);
    if (a.outputRstd) write(a.rstd, result.inverse);
}
static void compute(const call::AddRmsNormDynamicMxQuant& a) {
    const at::Tensor sum = to_double(a.x1) + to_double(a.x2);
    write(a.x, sum);
    const RmsNormal result = rms_normal(sum, a.gamma, a.epsilon);
    mx_quantise(plus(result.normal * to_double(a.gamma), a.beta), -1, kMxBlock, a.roundMode, a.y, a.mxscale);
    if (a.outputRstd) write(a.rstd, result.inverse);
}

// A square of 32 times 32 values has one scale, which is that of a block of each of its rows and of each of its columns.
static void compute(const call::DynamicBlockMxQuant& a) {
    const at::Tensor numbers = to_double(a.x), of_rows = in_mx_blocks(numbers.abs(), -1, kMxBlock).amax(-1);
    const at::Tensor largest = in_mx_blocks(of_rows, -2, kMxBlock).amax(-1);  // {..., blocks of columns, blocks of rows}
    const at::Tensor exponents = (exponents_of(largest) - largest_exponent(a.dstType)).clamp(-127, 127);
    const auto spread = [](const at::Tensor& blocks, int64_t size) { return blocks.repeat_interleave(kMxBlock, -2).narrow(-2, 0, size); };
    const at::Tensor of_each_row = spread(exponents.transpose(-1, -2), a.x.size(-2));
    a.y.store(by_mx_exponents(numbers, -of_each_row, -1, kMxBlock), a.roundMode);
    store_exponents(of_each_row, -1, a.scale1);
    store_exponents(spread(exponents, a.x.size(-1)), -2, a.scale2);
}

static void check(const call::SwigluGroupQuant& a) {
    if (a.y.float_type() != ACL_HIFLOAT8 || a.dstType != ACL_HIFLOAT8) refuse("y", "HIFLOAT8", to_string(a.y.float_type()));
    require_not_given("scale", a.scale);
    require_between("quantMode", a.quantMode, 3, 3);
    require_between("roundScale", a.roundScale, 0, 0);
    require_number_between("clampLimit", a.clampLimit, 0, 1e300);
    require_number_between("dstTypeMax", a.dstTypeMax, 0, largest_of(ACL_HIFLOAT8));
}
// The result is silu(min(first, limit)) * clamp(second, -limit, limit) * weight, with a scale for each group of rows that makes its largest
// number dstTypeMax.
static void compute(const call::SwigluGroupQuant& a) {
    const std::vector<at::Tensor> halves = to_double(a.x).chunk(2, -1);
    const bool limited = a.clampLimit != 0;
    const at::Tensor gate = limited ? halves[0].clamp_max(a.clampLimit) : halves[0];
    const at::Tensor linear = limited ? halves[1].clamp(-a.clampLimit, a.clampLimit) : halves[1];
    const at::Tensor result = times(at::silu(gate) * linear, a.weight);
    if (a.outputOrigin && a.yOrigin) write(*a.yOrigin, result);
    at::Tensor rows = result.flatten(0, -2).clone(), scales = at::zeros(a.yScale.sizes(), at::kDouble);
    const at::Tensor all = rows.clone();
    const std::vector<int64_t> sizes = given(a.groupIndex) ? numbers(*a.groupIndex) : std::vector<int64_t>{rows.size(0)};
    rows.zero_();  // rows that belong to no group stay zero
    for (const Range& group : groups_of(sizes, 1, rows.size(0), scales.numel())) {
        const at::Tensor part = all.narrow(0, group.first, group.size);
        const at::Tensor largest = part.numel() == 0 ? at::zeros({}, at::kDouble) : part.abs().amax();
        const at::Tensor by = largest.clamp_min(1e-8) / (a.dstTypeMax == 0 ? largest_of(ACL_HIFLOAT8) : a.dstTypeMax);
        scales[group.weight].copy_(by);
        rows.narrow(0, group.first, group.size).copy_(part / by);
    }
    write(a.yScale, scales);
    a.y.store(rows.view(result.sizes()), "round");
}
