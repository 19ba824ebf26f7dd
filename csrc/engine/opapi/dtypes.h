// Sets of data types, as the documents list them for a parameter. They compose: FLOATING | INT32.
#pragma once

#include <cstdint>

#include "aclnn/acl_meta.h"

namespace torch_aclnn::host {

class DTypes {
   public:
    constexpr explicit DTypes(aclDataType dtype) : bits_(bit(dtype)) {}
    static constexpr DTypes of_bits(uint64_t bits) { return DTypes(bits); }

    constexpr uint64_t bits() const { return bits_; }  // bit d is that of aclDataType d
    constexpr bool has(aclDataType dtype) const { return (bits_ & bit(dtype)) != 0; }
    constexpr DTypes operator|(DTypes other) const { return DTypes(bits_ | other.bits_); }
    constexpr DTypes without(DTypes other) const { return DTypes(bits_ & ~other.bits_); }

   private:
    constexpr explicit DTypes(uint64_t bits) : bits_(bits) {}
    static constexpr uint64_t bit(aclDataType dtype) { return dtype < 0 || dtype > 63 ? 0 : uint64_t{1} << dtype; }

    uint64_t bits_;
};

constexpr DTypes NO_DTYPE = DTypes::of_bits(0);
constexpr DTypes FLOAT(ACL_FLOAT), FLOAT16(ACL_FLOAT16), BF16(ACL_BF16), DOUBLE(ACL_DOUBLE);
constexpr DTypes INT8(ACL_INT8), UINT8(ACL_UINT8), INT16(ACL_INT16), INT32(ACL_INT32), INT64(ACL_INT64), BOOL(ACL_BOOL);
constexpr DTypes INT4(ACL_INT4);  // half a byte, which no C type has
constexpr DTypes UINT16(ACL_UINT16), UINT32(ACL_UINT32), UINT64(ACL_UINT64);
constexpr DTypes COMPLEX64(ACL_COMPLEX64), COMPLEX128(ACL_COMPLEX128);

// Only the 950 has these types.
constexpr DTypes FLOAT8_E4M3FN(ACL_FLOAT8_E4M3FN), FLOAT8_E5M2(ACL_FLOAT8_E5M2), FLOAT8_E8M0(ACL_FLOAT8_E8M0), HIFLOAT8(ACL_HIFLOAT8);
constexpr DTypes FLOAT4_E2M1(ACL_FLOAT4_E2M1), FLOAT4_E1M2(ACL_FLOAT4_E1M2);
constexpr DTypes EIGHT_BIT_FLOATS = FLOAT8_E4M3FN | FLOAT8_E5M2 | FLOAT8_E8M0;
constexpr DTypes OF_950 = EIGHT_BIT_FLOATS | HIFLOAT8 | FLOAT4_E2M1 | FLOAT4_E1M2;
constexpr DTypes ANY_FEW_BITS = FLOAT8_E4M3FN | FLOAT8_E5M2 | HIFLOAT8 | FLOAT4_E2M1 | FLOAT4_E1M2;

constexpr DTypes FLOATING = FLOAT | FLOAT16 | BF16;
constexpr DTypes INTEGRAL = INT8 | UINT8 | INT16 | INT32 | INT64;
constexpr DTypes REAL = FLOATING | DOUBLE | INTEGRAL;
constexpr DTypes COMPLEX = COMPLEX64 | COMPLEX128;
constexpr DTypes INDEX = INT32 | INT64;
constexpr DTypes WIDE = FLOAT | FLOAT16 | DOUBLE | COMPLEX;
constexpr DTypes NUMBERS = REAL | BOOL | COMPLEX;
// The types of quantised tensors, where an INT32 holds eight four-bit numbers, and of scales, where some have the form that hardware reads.
constexpr DTypes QUANTISED = INT8 | INT4 | INT32 | ANY_FEW_BITS;
constexpr DTypes SCALES = FLOATING | INT64 | UINT64 | FLOAT8_E8M0;
// The types of ATen's kernel, for entry points of which no published page lists the types.
constexpr DTypes ANY = NUMBERS | UINT16 | UINT32 | UINT64;

}  // namespace torch_aclnn::host
