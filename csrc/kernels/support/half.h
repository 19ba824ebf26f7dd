// IEEE binary16 and bfloat16 as storage types: they convert to float exactly and from float with one rounding to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

namespace torch_aclnn::kernels {

inline uint32_t float_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float bits_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    const uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0;
    if (magnitude >= 0x7c00u) return bits_float(sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
    // Reading the shifted bits as a float is off by 2^112 (the difference of the exponent biases), for subnormals too.
    return bits_float(sign | float_bits(bits_float(magnitude << 13) * 0x1p112f));
}

inline uint16_t float_to_half(float value) {
    const uint32_t bits = float_bits(value);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));  // nan, made quiet
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds beyond 65504: infinity
    if (magnitude < 0x38800000u) {                                               // below 2^-14: subnormal or zero
        // Adding 0.5 moves the result's last bit to the float's last bit, so that the addition does the rounding.
        const uint32_t rounded = float_bits(bits_float(magnitude) + 0.5f) - float_bits(0.5f);
        return static_cast<uint16_t>(sign | rounded);
    }
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23);
    return static_cast<uint16_t>(sign | rounded >> 13);
}

inline float bfloat16_to_float(uint16_t bits) {
    return bits_float(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t float_to_bfloat16(float value) {
    const uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x0040u);  // a quiet nan stays one
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct Half {
    uint16_t bits;
    Half() = default;
    Half(float value) : bits(float_to_half(value)) {}
    operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
    uint16_t bits;
    BFloat16() = default;
    BFloat16(float value) : bits(float_to_bfloat16(value)) {}
    operator float() const { return bfloat16_to_float(bits); }
};

}  // namespace torch_aclnn::kernels
