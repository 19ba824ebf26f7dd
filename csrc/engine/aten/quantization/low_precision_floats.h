// Floating point numbers of eight and of four bits, as the 950 has them: FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT8_E8M0, FLOAT4_E2M1, FLOAT4_E1M2
// and HIFLOAT8. The exponent of HIFLOAT8 takes 0 to 4 bits, depending on its value, and the mantissa takes the remaining ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "aclnn/acl_meta.h"

namespace torch_aclnn::host::aten {

bool is_few_bit_float(aclDataType dtype);
inline bool has_half_a_byte(aclDataType dtype) {
    return dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2;
}

void require_few_bit_floats(const char* name, aclDataType dtype);

double largest_of(aclDataType dtype);
int largest_exponent(aclDataType dtype);

// Converts codes in UINT8 to numbers in float64, and numbers to codes, rounded to the nearest ("rint", halfway cases to even; "round", away
// from zero) or down ("floor"). A number that is too large becomes the largest.
at::Tensor decoded(const at::Tensor& codes, aclDataType dtype);
at::Tensor encoded(const at::Tensor& numbers, aclDataType dtype, std::string_view rounding);

}  // namespace torch_aclnn::host::aten
