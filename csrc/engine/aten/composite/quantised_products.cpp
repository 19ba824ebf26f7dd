// Products of matrices of which one has numbers of few bits, or both.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "quantisation"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten {

at::Tensor exchanged(const at::Tensor& x, bool transpose) {
    return transpose ? x.transpose(-1, -2) : x;
}

std::vector<int64_t> exchanged(std::vector<int64_t> sizes, bool transpose) {
    if (transpose && sizes.size() > 1) std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return sizes;
}

void require_factors(const char* left_name, const std::vector<int64_t>& left, const char* right_name, const std::vector<int64_t>& right) {
    if (left.size() < 2) refuse(left_name, "at least 2 dimensions", shape_text(at::IntArrayRef(left)));
    if (right.size() < 2) refuse(right_name, "at least 2 dimensions", shape_text(at::IntArrayRef(right)));
    if (left.back() != right[right.size() - 2])
        refuse(right_name, c10::str(left.back(), " rows, as many as ", left_name, " has columns"), shape_text(at::IntArrayRef(right)));
}

// The rows of one and the columns of the other, of each of a batch.
Expected product_shape(const std::vector<int64_t>& left, const std::vector<int64_t>& right) {
    Expected expected(left);
    expected.sizes.back() = right.back();
    if (right.size() > left.size())
        expected.sizes.insert(expected.sizes.begin(), right.begin(), right.begin() + static_cast<int64_t>(right.size() - left.size()));
    for (size_t d = 3; d <= std::min(left.size(), right.size()); d++) {  // from the last
        int64_t& size = expected.sizes[expected.sizes.size() - d];
        const int64_t other = right[right.size() - d];
        if (size != 1 && other != 1 && size != other)
            refuse("x2", c10::str(size, " matrices, as x1 has"), shape_text(at::IntArrayRef(right)));
        if (size == 1) size = other;
    }
    return expected;
}

}  // namespace torch_aclnn::host::aten

namespace {

using torch_aclnn::host::refuse;
using Opt = std::optional<at::Tensor>;

// Integers times integers, exactly.
at::Tensor product(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2) {
    return at::matmul(exchanged(to_double(x1.values()), transpose1), exchanged(to_double(x2.values()), transpose2));
}

// (x1 x2 + bias) scale scale_of_rows + offset, where a bias of integers comes before the scales, and another one behind.
struct Scales {
    std::optional<at::Tensor> of_columns, of_rows = {}, offset = {}, bias = {};
};

// The number that aclnnTransQuantParamV2 adds to a scale's bits.
at::Tensor offset_in(const at::Tensor& scale) {
    const at::Tensor bits = at::bitwise_and(at::bitwise_right_shift(scale.contiguous().view(at::kLong), 37), 0x1FF);
    return to_double(at::bitwise_xor(bits, 0x100) - 0x100);
}

at::Tensor scaled_product(at::Tensor result, const Scales& by) {
    const bool early = given(by.bias) && at::isIntegralType(by.bias->scalar_type(), false);
    if (early) result = result + to_double(*by.bias);
    if (given(by.of_columns)) result = result * scale_values(*by.of_columns);
    if (given(by.of_rows)) result = result * to_double(*by.of_rows).flatten().unsqueeze(-1);
    return given(by.bias) && !early ? result + to_double(*by.bias) : result;
}

// Of floating point factors of few bits: their blocks may have powers of two as scales (MX). A bias comes before a scale of 64 bits.
bool has_mx_scales(const PackableTensor& x1, const at::Tensor& scale) {
    return x1.is_floating() && scale.dim() == 3 && scale.element_size() == 1;
}
at::Tensor floating_product(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2, const Scales& by) {
    const at::Tensor left = exchanged(x1.values(), turn1), right = exchanged(x2.values(), turn2);
    if (has_mx_scales(x1, *by.of_columns)) {
        const at::Tensor result = mx_product(left, right, to_double(*by.of_rows), to_double(*by.of_columns));
        return given(by.bias) ? result + to_double(*by.bias) : result;
    }
    const bool early = given(by.bias) && by.of_columns->element_size() == 8;
    const at::Tensor product = at::matmul(left, right);
    return scaled_product(early ? product + to_double(*by.bias) : product, {by.of_columns, by.of_rows, {}, early ? Opt() : by.bias});
}
void require_quantised(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2, const Opt& scale1,
                       const at::Tensor& scale2, int64_t groups) {
    const bool mx = has_mx_scales(x1, scale2);
    if (mx)
        require_mx_groups(groups);
    else
        require_between("groupSize", groups, 0, 0);
    if (!x1.is_floating()) return require_integers(x1, x2, turn1, turn2, "x1Scale", scale1);
    if (!x2.is_floating()) refuse("x2", "a floating point type of few bits, as x1 has", c10::str(x2.scalar_type()));
    const std::vector<int64_t> left = exchanged(x1.sizes(), turn1), right = exchanged(x2.sizes(), turn2);
    require_factors("x1", left, "x2", right);
    if (!mx) return;
    if (left.size() != 2 || right.size() != 2) refuse("x1", "factors of 2 dimensions, as their blocks have scales", "others");
    if (!given(scale1)) torch_aclnn::host::refuse_null("x1Scale", "a tensor, as x2Scale has powers of two");
    require_expected("x1Scale", *scale1, mx_scales(left, -1));
    require_expected("x2Scale", scale2, mx_scales(right, -2));
}
BroadcastsTo scales_of_columns(const PackableTensor& x1, const at::Tensor& scale, const at::Tensor& out) {
    return broadcasts_to(has_mx_scales(x1, scale) ? scale : out);
}

void scale_product(const at::Tensor& product, const Scales& by, at::Tensor& out) {
    at::Tensor result = scaled_product(product, by);
    if (given(by.offset)) {
        result = result + to_double(*by.offset);
    } else if (given(by.of_columns) && by.of_columns->element_size() == 8 && out.scalar_type() == at::kChar) {
        result = result + offset_in(*by.of_columns);
    }
    write_rounded(out, result);
}

}  // namespace

namespace torch_aclnn::host::aten {

void require_integers(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2, const char* row_scale_name,
                      const std::optional<at::Tensor>& row_scale) {
    if (x1.scalar_type() != at::kChar) refuse("x1", "a data type of INT8, INT4, INT32", c10::str(x1.scalar_type()));
    if (x1.has_four_bits() != x2.has_four_bits() || x2.scalar_type() != at::kChar)
        refuse("x2", c10::str("numbers of ", x1.has_four_bits() ? 4 : 8, " bits, as x1 has"), c10::str(x2.scalar_type()));
    require_factors("x1", exchanged(x1.sizes(), transpose1), "x2", exchanged(x2.sizes(), transpose2));
    if (given(row_scale) && row_scale->numel() != exchanged(x1.sizes(), transpose1).rbegin()[1])
        refuse(row_scale_name, "a number for each row of x1: the engine has no groups", shape_text(row_scale->sizes()));
}

void require_of_product(const Expected& product,
                        std::initializer_list<std::pair<const char*, const std::optional<at::Tensor>&>> parameters) {
    for (const auto& [name, tensor] : parameters) require_broadcast(name, tensor, product.sizes);
}

}  // namespace torch_aclnn::host::aten

namespace {

void require_batches(const PackableTensor& x1, const PackableTensor& x2, bool transpose1, bool transpose2) {
    require_integers(x1, x2, transpose1, transpose2, "", std::nullopt);
    if (x1.sizes().size() != 3) refuse("x1", "3 dimensions", shape_text(at::IntArrayRef(x1.sizes())));
    if (x2.sizes().size() != 3 || x2.sizes()[0] != x1.sizes()[0])
        refuse("x2", c10::str("a batch of ", x1.sizes()[0], " matrices"), shape_text(at::IntArrayRef(x2.sizes())));
}
void require_dropped(bool keep) {
    if (keep) refuse("keepDims", "false", "true");
}
Expected without_last(std::vector<int64_t> sizes) {
    sizes.pop_back();
    return at::IntArrayRef(sizes);
}

void require_parameters_of(const at::Tensor& out, const at::Tensor& parameters) {
    if (out.dim() != 2 || out.scalar_type() != at::kChar) refuse("out", "2 dimensions of INT8", shape_text(out.sizes()));
    const int64_t columns = out.size(1), count = parameters.numel();
    if (parameters.dim() != 1 || parameters.element_size() != 8 || (count != 1 && count != columns && count != (columns + 15) / 16 * 16))
        refuse("quantParam", c10::str("1 or ", columns, " values of 64 bits"), shape_text(parameters.sizes()));
}
Expected matrix_product(const at::Tensor& x1, bool turn1, const at::Tensor& x2, bool turn2) {
    const std::vector<int64_t> left = exchanged(x1.sizes().vec(), turn1), right = exchanged(x2.sizes().vec(), turn2);
    if (left.size() != 2) refuse("x1", "2 dimensions", shape_text(x1.sizes()));
    if (right.size() != 2) refuse("x2", "2 dimensions", shape_text(x2.sizes()));
    require_factors("x1", left, "x2", right);
    return product_shape(left, right);
}

std::string_view read_fused_gelu(const char* name, const char* text) {
    return read_choice(name, text, {"gelu_erf", "gelu_tanh"});
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using FusedGelu = Kind<const char*, std::string_view, std::string_view, read_fused_gelu>;
}  // namespace torch_aclnn::host::aten::kind

#define PRODUCT product_shape(exchanged(x1.sizes(), transposeX1), exchanged(x2.sizes(), transposeX2))
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV3, INT8 | INT4 | INT32,
                   (require_integers(x1, x2, transposeX1, transposeX2, "", std::nullopt),
                    require_of_product(PRODUCT, {{"offset", offset}, {"bias", bias}})),
                   (Packable, x1), (Packable, x2), (In, scale, broadcasts_to(out)), (OptIn, offset), (OptIn, bias), (Bool, transposeX1),
                   (Bool, transposeX2), (Out, out, PRODUCT)) {
    scale_product(product(x1, x2, transposeX1, transposeX2), {scale, std::nullopt, offset, bias}, out);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV4, INT8 | INT4 | INT32,
                   (require_integers(x1, x2, transposeX1, transposeX2, "pertokenScale", pertokenScale),
                    require_of_product(PRODUCT, {{"offset", offset}, {"bias", bias}})),
                   (Packable, x1), (Packable, x2), (In, scale, broadcasts_to(out)), (OptIn, offset), (OptIn, pertokenScale), (OptIn, bias),
                   (Bool, transposeX1), (Bool, transposeX2), (Out, out, PRODUCT)) {
    scale_product(product(x1, x2, transposeX1, transposeX2), {scale, pertokenScale, offset, bias}, out);
}
// Numbers of eight bits by numbers of four have a formula of their own; the engine has not got it, nor groups of integers.
#define QUANT_MATMUL(entry_point, Weight)                                                                                                  \
    ATEN_CHECKED_ENTRY(                                                                                                                    \
        entry_point, INT8 | INT4 | INT32 | ANY_FEW_BITS,                                                                                   \
        (require_not_given("yScale", yScale), require_not_given("x1Offset", x1Offset), require_not_given("yOffset", yOffset),              \
         require_quantised(x1, x2, transposeX1, transposeX2, x1Scale, x2Scale, groupSize),                                                 \
         require_of_product(PRODUCT, {{"x2Offset", x2Offset}, {"bias", bias}})),                                                           \
        (Packable, x1), (Weight, x2), (OptIn, x1Scale), (In, x2Scale, scales_of_columns(x1, x2Scale, out)), (OptIn, yScale),               \
        (OptIn, x1Offset), (OptIn, x2Offset), (OptIn, yOffset), (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2), (Int, groupSize), \
        (Out, out, PRODUCT)) {                                                                                                             \
        const Scales scales{x2Scale, x1Scale, x2Offset, bias};                                                                             \
        if (x1.is_floating()) return write(out, floating_product(x1, x2, transposeX1, transposeX2, scales));                               \
        scale_product(product(x1, x2, transposeX1, transposeX2), scales, out);                                                             \
    }
QUANT_MATMUL(aclnnQuantMatmulV5, Packable)
QUANT_MATMUL(aclnnQuantMatmulWeightNz, InBlocks)

// The sum of a batch of products. torch_npu's dims is a list whose memory it has already left, so that its value means nothing.
ATEN_CHECKED_ENTRY(aclnnQuantMatmulReduceSumWeightNz, INT8,
                   (require_not_given("yScale", yScale), require_not_given("x1Offset", x1Offset), require_not_given("x2Offset", x2Offset),
                    require_not_given("yOffset", yOffset), require_not_given("bias", bias), require_dropped(keepDims),
                    require_between("groupSize", groupSize, -1, 0), require_batches(x1, x2, transposeX1, transposeX2)),
                   (Packable, x1), (InBlocks, x2), (In, x1Scale, without_last(exchanged(x1.sizes(), transposeX1))),
                   (In, x2Scale, shape({exchanged(x2.sizes(), transposeX2).back()})), (OptIn, yScale), (OptIn, x1Offset), (OptIn, x2Offset),
                   (OptIn, yOffset), (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2), (Int, groupSize), (Exactly<1>, dims),
                   (Bool, keepDims), (Out, out, without_dim(PRODUCT.sizes, 0))) {
    const at::Tensor batches = product(x1, x2, transposeX1, transposeX2) * to_double(x1Scale).unsqueeze(-1);
    write(out, batches.sum(0) * to_double(x2Scale));
}

#define FUSED_QUANT_MATMUL(entry_point, Weight)                                                                                      \
    ATEN_CHECKED_ENTRY(entry_point, INT8 | INT4 | INT32,                                                                             \
                       (require_not_given("yScale", yScale), require_not_given("x1Offset", x1Offset),                                \
                        require_not_given("x2Offset", x2Offset), require_not_given("yOffset", yOffset), require_not_given("x3", x3), \
                        require_between("groupSize", groupSize, 0, 0), require_integers(x1, x2, false, false, "x1Scale", x1Scale)),  \
                       (Packable, x1), (Weight, x2), (OptIn, x1Scale), (In, x2Scale, broadcasts_to(out)), (OptIn, yScale),           \
                       (OptIn, x1Offset), (OptIn, x2Offset), (OptIn, yOffset), (OptIn, bias), (OptIn, x3), (FusedGelu, fusedOpType), \
                       (Int, groupSize), (Out, out, product_shape(x1.sizes(), x2.sizes()))) {                                        \
        const at::Tensor scaled = scaled_product(product(x1, x2, false, false), {x2Scale, x1Scale, std::nullopt, bias});             \
        write(out, at::gelu(scaled, fusedOpType == "gelu_tanh" ? "tanh" : "none"));                                                  \
    }
FUSED_QUANT_MATMUL(aclnnFusedQuantMatmul, Packable)
FUSED_QUANT_MATMUL(aclnnFusedQuantMatmulWeightNz, InBlocks)

// The parameters have a scale and an offset for each column, or one for all, and may go on to the end of a block of 16.
ATEN_CHECKED_ENTRY(aclnnBatchMatmulQuant, FLOAT16, require_parameters_of(out, quantParam), (In, x1), (In, x2), (In, quantParam),
                   (OptIn, bias, or_empty(shape({size_of(out, -1)}))), (Bool, transposeX1), (Bool, transposeX2),
                   (Out, out, matrix_product(x1, transposeX1, x2, transposeX2))) {
    at::Tensor product = at::matmul(exchanged(to_double(x1), transposeX1), exchanged(to_double(x2), transposeX2));
    if (given(bias)) product = product + to_double(*bias);
    scale_product(product, {quantParam.narrow(0, 0, std::min(quantParam.numel(), out.size(-1)))}, out);
}
