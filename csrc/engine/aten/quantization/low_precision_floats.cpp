#include "engine/aten/quantization/low_precision_floats.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/runtime/config/config.h"
#include "engine/runtime/data_type.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The numbers of bits of exponent and mantissa, for types whose exponent has a fixed width.
struct FloatFields {
    aclDataType dtype;
    int exponent, mantissa, bias;
};
constexpr FloatFields kFloatFields[] = {
    {ACL_FLOAT8_E4M3FN, 4, 3, 7}, {ACL_FLOAT8_E5M2, 5, 2, 15}, {ACL_FLOAT4_E2M1, 2, 1, 1}, {ACL_FLOAT4_E1M2, 1, 2, 1}};

double number_of_code(const FloatFields& fields, int code) {
    const int exponent = code >> fields.mantissa & ((1 << fields.exponent) - 1), mantissa = code & ((1 << fields.mantissa) - 1);
    if (fields.dtype == ACL_FLOAT8_E4M3FN && (code & 0x7F) == 0x7F) return kNoNumber;
    if (fields.dtype == ACL_FLOAT8_E5M2 && exponent == 31) return mantissa == 0 ? kInfinite : kNoNumber;
    const int whole = exponent == 0 ? 0 : 1 << fields.mantissa;  // the hidden bit of normal numbers
    return std::ldexp(whole + mantissa, std::max(exponent, 1) - fields.bias - fields.mantissa);
}

// Behind the sign, a prefix says how many bits the exponent has: 11, 10, 01, 001 and 0001 stand for 4, 3, 2, 1 and 0 bits, the first of
// which is its sign; the highest bit of its size is hidden. 0000 leads the smallest numbers, which have an exponent alone.
double hifloat8(int code) {
    const int rest = code & 0x7F;
    if (rest == 0) return code == 0 ? 0 : kNoNumber;
    if (rest == 0x6F) return kInfinite;
    if (rest < 8) return std::ldexp(1, rest - 23);
    const int prefix = rest >> 5 != 0 ? 2 : rest >> 4 != 0 ? 3 : 4;
    const int bits = prefix == 2 ? rest >> 5 & 3 : 0, exponent_bits = prefix == 2 ? bits + 1 : prefix == 3 ? 1 : 0;
    const int mantissa_bits = 7 - prefix - exponent_bits, field = rest >> mantissa_bits & ((1 << exponent_bits) - 1);
    int exponent = 0;
    if (exponent_bits > 0) {
        const int size = 1 << (exponent_bits - 1);
        const int magnitude = size | (field & (size - 1));
        exponent = (field & size) != 0 ? -magnitude : magnitude;
    }
    return std::ldexp((1 << mantissa_bits) + (rest & ((1 << mantissa_bits) - 1)), exponent - mantissa_bits);
}

double number_of_code(aclDataType dtype, int code) {
    if (dtype == ACL_FLOAT8_E8M0) return code == 255 ? kNoNumber : std::ldexp(1, code - 127);
    const int sign_bit = has_half_a_byte(dtype) ? 8 : 128;
    if (dtype == ACL_HIFLOAT8) return (code & sign_bit) != 0 ? -hifloat8(code) : hifloat8(code);
    const auto* const fields =
        std::find_if(std::begin(kFloatFields), std::end(kFloatFields), [&](const FloatFields& f) { return f.dtype == dtype; });
    const double size = number_of_code(*fields, code & (sign_bit - 1));
    return (code & sign_bit) != 0 ? -size : size;
}

// All numbers of a data type, and, rising, those that are finite and not negative, with their codes.
struct NumberTable {
    explicit NumberTable(aclDataType dtype) {
        const int count = has_half_a_byte(dtype) ? 16 : 256;
        std::vector<double> of_codes;
        for (int code = 0; code < count; code++) of_codes.push_back(number_of_code(dtype, code));
        all = at::tensor(of_codes, at::kDouble);
        const at::Tensor counted = at::nonzero(all.isfinite().logical_and(all.signbit().logical_not())).squeeze(1);
        const auto [values, order] = at::sort(all.index_select(0, counted), /*stable=*/true, 0, false);
        rising = values;
        codes = counted.index_select(0, order);
    }
    at::Tensor all, rising, codes;
};
const NumberTable& number_table(aclDataType dtype) {
    static const auto* const tables = [] {
        auto* made = new std::map<aclDataType, NumberTable>;
        for (const aclDataType each : {ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E8M0, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2})
            made->emplace(each, NumberTable(each));
        return made;
    }();
    return tables->at(dtype);
}

int64_t code_of_no_number(aclDataType dtype) {
    if (has_half_a_byte(dtype)) return 0;  // these types have no such number
    return dtype == ACL_HIFLOAT8 ? 128 : dtype == ACL_FLOAT8_E8M0 ? 255 : 127;
}

}  // namespace

bool is_few_bit_float(aclDataType dtype) {
    return (dtype >= ACL_HIFLOAT8 && dtype <= ACL_FLOAT8_E8M0) || has_half_a_byte(dtype);
}

void require_few_bit_floats(const char* name, aclDataType dtype) {
    if (config().product != Product::ascend950) refuse(name, "a data type of the product, " + config().soc_name, to_string(dtype));
}

double largest_of(aclDataType dtype) {
    return number_table(dtype).rising[-1].item<double>();
}
int largest_exponent(aclDataType dtype) {
    return std::ilogb(largest_of(dtype));
}

at::Tensor decoded(const at::Tensor& codes, aclDataType dtype) {
    return number_table(dtype).all.index_select(0, codes.to(at::kLong).flatten()).view(codes.sizes());
}

at::Tensor encoded(const at::Tensor& numbers, aclDataType dtype, std::string_view rounding) {
    const NumberTable& table = number_table(dtype);
    const at::Tensor nothing = numbers.isnan(), size = numbers.masked_fill(nothing, 0).abs().clamp_max(largest_of(dtype)).contiguous();
    const int64_t last = table.rising.numel() - 1;
    const at::Tensor below = (at::searchsorted(table.rising, size, false, /*right=*/true) - 1).clamp(0, last);
    const at::Tensor above = (below + 1).clamp_max(last);
    const auto value = [&](const at::Tensor& places) { return table.rising.index_select(0, places.flatten()).view(places.sizes()); };
    const at::Tensor middle = (value(below) + value(above)) / 2;
    at::Tensor up;
    if (rounding == "floor")
        up = numbers.lt(0).logical_and(size.gt(value(below)));
    else
        up = size.gt(middle).logical_or(
            size.eq(middle).logical_and(rounding == "round" ? at::ones_like(nothing) : below.remainder(2).eq(1)));
    at::Tensor codes = table.codes.index_select(0, at::where(up, above, below).flatten()).view(numbers.sizes());
    const bool signed_zero = dtype != ACL_HIFLOAT8;
    const at::Tensor negative = signed_zero ? numbers.signbit() : numbers.lt(0).logical_and(codes.ne(0));
    if (dtype != ACL_FLOAT8_E8M0) codes = codes + negative.to(at::kLong) * (has_half_a_byte(dtype) ? 8 : 128);
    return codes.masked_fill(nothing, code_of_no_number(dtype)).to(at::kByte);
}

}  // namespace torch_aclnn::host::aten
