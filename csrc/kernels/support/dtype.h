// The element types that the kernels know, and a switch from the run-time value to the C++ type.
#pragma once

#include "kernels/support/half.h"

namespace torch_aclnn::kernels {

enum class DType { float16, bfloat16, float32, float64, int8, uint8, int16, int32, int64, complex64, complex128 };

template <class T>
struct TypeTag {
    using type = T;
};

// The value that stands for a real floating-point type.
template <class T>
inline constexpr DType kDType = DType::float64;
template <>
inline constexpr DType kDType<float> = DType::float32;
template <>
inline constexpr DType kDType<Half> = DType::float16;
template <>
inline constexpr DType kDType<BFloat16> = DType::bfloat16;

// Sums are formed in this type and rounded once: half types in float32, all others in their own.
template <class T>
struct Accumulator {
    using type = T;
};
template <>
struct Accumulator<Half> {
    using type = float;
};
template <>
struct Accumulator<BFloat16> {
    using type = float;
};

inline bool is_half_type(DType dtype) {
    return dtype == DType::float16 || dtype == DType::bfloat16;
}

inline bool has_float_sums(DType dtype) {
    return is_half_type(dtype) || dtype == DType::float32;
}

// Calls body(TypeTag<T>{}) for a real floating-point type; returns false for any other.
bool visit_floating(DType dtype, auto&& body) {
    switch (dtype) {
        case DType::float16: body(TypeTag<Half>{}); return true;
        case DType::bfloat16: body(TypeTag<BFloat16>{}); return true;
        case DType::float32: body(TypeTag<float>{}); return true;
        case DType::float64: body(TypeTag<double>{}); return true;
        default: return false;
    }
}

inline int64_t element_size(DType dtype) {
    switch (dtype) {
        case DType::int8:
        case DType::uint8: return 1;
        case DType::float16:
        case DType::bfloat16:
        case DType::int16: return 2;
        case DType::float32:
        case DType::int32: return 4;
        case DType::float64:
        case DType::int64:
        case DType::complex64: return 8;
        case DType::complex128: return 16;
    }
    return 0;
}

}  // namespace torch_aclnn::kernels
