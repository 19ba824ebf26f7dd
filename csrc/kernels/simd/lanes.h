// Lanes: fixed numbers of values that are computed at once; compiled once per instruction set, each in a namespace of its own.
#pragma once

#include "kernels/simd/target.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

constexpr int kVectorBytes = KERNEL_VECTOR_BYTES;

template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};
// A single lane is a number: compilers pass vectors of one through memory.
template <class T>
struct VectorOf<T, 1> {
    using type = T;
};
template <class T, int N>
using Vector = typename VectorOf<T, N>::type;

template <class T>
using Sum = typename Accumulator<T>::type;

template <class Value>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Value));

template <class V>
inline V load_bytes(const void* source) {
    V value;
    __builtin_memcpy(&value, source, sizeof value);
    return value;
}

inline void store_bytes(void* target, auto value) {
    __builtin_memcpy(target, &value, sizeof value);
}

// Returns the same numbers as another type.
template <class To, int N, class From>
inline Vector<To, N> convert(From value) {
    if constexpr (N == 1)
        return static_cast<To>(value);
    else
        return __builtin_convertvector(value, Vector<To, N>);
}

template <int N>
inline Vector<uint32_t, N> widen_bits(Vector<uint16_t, N> bits) {
#if KERNEL_VECTOR_BYTES >= 64
    if constexpr (N == 16) return (Vector<uint32_t, N>)_mm512_cvtepu16_epi32((__m256i)bits);
#endif
#if KERNEL_VECTOR_BYTES >= 32
    if constexpr (N == 8) return (Vector<uint32_t, N>)_mm256_cvtepu16_epi32((__m128i)bits);
#endif
    return __builtin_convertvector(bits, Vector<uint32_t, N>);
}

// Narrows values below 2^16.
template <int N>
inline Vector<uint16_t, N> narrow_bits(Vector<uint32_t, N> bits) {
#if KERNEL_VECTOR_BYTES >= 32
    if constexpr (N == 8) {
        const __m256i all = (__m256i)bits;
        return (Vector<uint16_t, N>)_mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    }
#endif
    return __builtin_convertvector(bits, Vector<uint16_t, N>);
}

// The conversions follow half.h bit by bit, nan's payload included.
template <int N>
inline Vector<float, N> widen_half(Vector<uint16_t, N> half) {
#if KERNEL_VECTOR_BYTES >= 64
    if constexpr (N == 16) return (Vector<float, N>)_mm512_cvtph_ps((__m256i)half);
#endif
#if KERNEL_VECTOR_BYTES >= 32
    if constexpr (N == 8) return (Vector<float, N>)_mm256_cvtph_ps((__m128i)half);
    if constexpr (N == 4) return (Vector<float, N>)_mm_cvtph_ps(_mm_cvtsi64_si128((int64_t)half));
#endif
#if defined(__aarch64__)
    if constexpr (N == 4) return (Vector<float, N>)vcvt_f32_f16((float16x4_t)half);
#endif
    const auto bits = (Vector<int32_t, N>)widen_bits<N>(half);
    const auto magnitude = bits & 0x7fff;
    const auto finite = (Vector<int32_t, N>)((Vector<float, N>)(magnitude << 13) * 0x1p112f);
    const auto special = magnitude << 13 | 0x7f800000 | ((magnitude > 0x7c00) & 0x400000);
    return (Vector<float, N>)((bits & 0x8000) << 16 | (magnitude >= 0x7c00 ? special : finite));
}

template <int N>
inline Vector<uint16_t, N> narrow_half(Vector<float, N> value) {
#if KERNEL_VECTOR_BYTES >= 64
    if constexpr (N == 16) return (Vector<uint16_t, N>)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
#endif
#if KERNEL_VECTOR_BYTES >= 32
    if constexpr (N == 8) return (Vector<uint16_t, N>)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
    if constexpr (N == 4) return (Vector<uint16_t, N>)_mm_cvtsi128_si64(_mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT));
#endif
#if defined(__aarch64__)
    if constexpr (N == 4) return (Vector<uint16_t, N>)vcvt_f16_f32((float32x4_t)value);
#endif
    using Bits = Vector<int32_t, N>;
    const Bits bits = (Bits)value;
    const Bits magnitude = bits & 0x7fffffff;
    const Bits subnormal = (Bits)((Vector<float, N>)magnitude + 0.5f) - 0x3f000000;
    const Bits normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112 << 23)) >> 13;
    const Bits nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    const Bits infinite = magnitude > 0x7f800000 ? nan : Bits{} + 0x7c00;
    const Bits finite = magnitude < 0x38800000 ? subnormal : normal;
    return __builtin_convertvector((bits >> 16 & 0x8000) | (magnitude >= 0x477ff000 ? infinite : finite), Vector<uint16_t, N>);
}

template <int N>
inline Vector<float, N> widen_bfloat16(Vector<uint16_t, N> value) {
    return (Vector<float, N>)(widen_bits<N>(value) << 16);
}

template <int N>
inline Vector<uint32_t, N> bfloat16_bits(Vector<float, N> value) {
    using Bits = Vector<uint32_t, N>;
    const Bits bits = (Bits)value;
    const Bits rounded = bits + (bits >> 16 & 1) + 0x7fff;
    return (value == value ? rounded : bits | 0x400000) >> 16;
}

// The bits of a half type in the lower halves of words.
template <int N, class T>
inline Vector<uint32_t, N> to_bits(Vector<float, N> value) {
    if constexpr (std::is_same_v<T, BFloat16>)
        return bfloat16_bits<N>(value);
    else
        return widen_bits<N>(narrow_half<N>(value));
}

// What a vector of elements is made of in registers.
template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, Sum<T>>, T, uint16_t>;

// One number, by the instructions of four, which are shorter than half.h.
inline float widen_one_half(uint16_t half) {
    return widen_half<4>(Vector<uint16_t, 4>{half})[0];
}
inline uint16_t narrow_one_half(float value) {
    return narrow_half<4>(Vector<float, 4>{value})[0];
}

// Elements as the type of their sums, and back with one rounding.
template <int N, class T>
inline Vector<Sum<T>, N> widen(Vector<BitsOf<T>, N> bits) {
    if constexpr (N == 1 && std::is_same_v<T, Half>)
        return widen_one_half(bits);
    else if constexpr (N == 1)
        return static_cast<Sum<T>>(load_bytes<T>(&bits));
    else if constexpr (std::is_same_v<T, Half>)
        return widen_half<N>(bits);
    else if constexpr (std::is_same_v<T, BFloat16>)
        return widen_bfloat16<N>(bits);
    else
        return bits;
}

template <int N, class T>
inline Vector<BitsOf<T>, N> narrow(Vector<Sum<T>, N> value) {
    if constexpr (N == 1 && std::is_same_v<T, Half>) {
        return narrow_one_half(value);
    } else if constexpr (N == 1) {
        const auto element = static_cast<T>(value);
        return load_bytes<BitsOf<T>>(&element);
    } else if constexpr (std::is_same_v<T, Half>)
        return narrow_half<N>(value);
    else if constexpr (std::is_same_v<T, BFloat16>)
        return narrow_bits<N>(bfloat16_bits<N>(value));
    else
        return value;
}

// N consecutive elements.
template <int N, class T>
inline Vector<Sum<T>, N> load(const T* source) {
    return widen<N, T>(load_bytes<Vector<BitsOf<T>, N>>(source));
}

template <int N, class T>
inline void store(T* target, Vector<Sum<T>, N> value) {
    store_bytes(target, narrow<N, T>(value));
}

// N elements that lie `stride` apart; kAdjacent says that it is 1.
template <int N, bool kAdjacent, class T>
inline Vector<Sum<T>, N> load_strided(const T* source, int64_t stride) {
    if constexpr (kAdjacent) return load<N>(source);
    T elements[N];
    for (int i = 0; i < N; ++i) elements[i] = source[i * stride];
    return load<N>(elements);
}

// Calls body(width, i) for blocks of `width` elements that cover [0, count), as wide as fit; the rest has the least width that covers it,
// and may cover elements of the block before again, so the body must not read what it writes.
template <int N>
struct Width {
    static constexpr int value = N;
};
template <int N, class Body>
inline __attribute__((always_inline)) void for_last_lanes(int64_t count, int64_t rest, const Body& body) {
    if constexpr (N > 4)
        if (rest <= N / 2) return for_last_lanes<N / 2>(count, rest, body);
    body(Width<N>{}, count - N);
}
template <int N, class Body>
inline __attribute__((always_inline)) void for_lanes_up_to(int64_t count, const Body& body) {
    if constexpr (N > 1)
        if (count < N) return for_lanes_up_to<(N > 4 ? N / 2 : 1)>(count, body);
    for (int64_t i = 0; i + N <= count; i += N) body(Width<N>{}, i);
    if (count % N != 0) for_last_lanes<N>(count, count % N, body);
}
template <class Value, class Body>
inline __attribute__((always_inline)) void for_lanes(int64_t count, const Body& body) {
    for_lanes_up_to<kLanes<Value>>(count, body);
}

// GCC takes a function that does nothing but fetch for one without effects, and leaves out calls of it; this is an effect, of no
// instruction.
inline void keep_prefetches() {
    asm volatile("");
}

// Asks for the lines from `begin` on; what is not there does not fault.
inline void prefetch_bytes(const void* begin, int64_t bytes) {
    constexpr int64_t kLine = 64;
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(static_cast<const char*>(begin) + i);
    keep_prefetches();
}

inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

inline void visit_sums(DType dtype, const auto& body) {
    switch (dtype) {
        case DType::float16: return body(Half{});
        case DType::bfloat16: return body(BFloat16{});
        case DType::float32: return body(float{});
        default: return body(double{});
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
