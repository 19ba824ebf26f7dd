// Sums of several terms per lane. The commonest counts are known to the compiler, which then needs no loop.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(count), with a type that stands for the number if it is 1, 2 or 3.
inline void visit_count(int64_t count, const auto& body) {
    switch (count) {
        case 1: return body(std::integral_constant<int64_t, 1>{});
        case 2: return body(std::integral_constant<int64_t, 2>{});
        case 3: return body(std::integral_constant<int64_t, 3>{});
        default: return body(count);
    }
}

// The sum of `count` vectors that lie `distance` apart; there is at least one.
template <int N, class T, class Count>
inline Vector<Sum<T>, N> sum_apart(const T* source, int64_t distance, Count count) {
    auto sum = load<N>(source);
    for (int64_t i = 1; i < count; ++i) sum += load<N>(source + i * distance);
    return sum;
}

// The sum of the vectors at the `count` listed positions, `distance` apart each; there is at least one. `Distance` is a number, or a type
// that stands for one.
template <int N, class T, class Distance>
inline Vector<Sum<T>, N> sum_at(const T* source, Distance distance, const int64_t* positions, int64_t count) {
    auto sum = load<N>(source + positions[0] * distance);
    for (int64_t i = 1; i < count; ++i) sum += load<N>(source + positions[i] * distance);
    return sum;
}

// Calls body(sum), where sum(width, source) is such a sum. The positions of one to three terms are in registers: of a list they would be
// read again after each store, which might have changed them.
inline void visit_sum_at(int64_t distance, const int64_t* positions, int64_t count, const auto& body) {
    const auto offset = [=](int64_t i) { return i < count ? positions[i] * distance : 0; };
    const int64_t first = offset(0), second = offset(1), third = offset(2);
    const auto at = [](auto width, const auto* element) { return load<decltype(width)::value>(element); };
    switch (count) {
        case 1: return body([=](auto width, const auto* source) { return at(width, source + first); });
        case 2: return body([=](auto width, const auto* source) { return at(width, source + first) + at(width, source + second); });
        case 3:
            return body([=](auto width, const auto* source) {
                return at(width, source + first) + at(width, source + second) + at(width, source + third);
            });
        default:
            return body([=](auto width, const auto* source) { return sum_at<decltype(width)::value>(source, distance, positions, count); });
    }
}

// The sum of `count` vectors that lie `distance` apart, of elements `stride` apart, each vector times its scale; null means ones.
template <int N, bool kAdjacent, class T>
inline Vector<Sum<T>, N> sum_scaled(const T* source, int64_t distance, int64_t stride, int64_t count, const Sum<T>* scale) {
    auto sum = load_strided<N, kAdjacent>(source, stride);
    if (scale != nullptr) sum *= scale[0];
    for (int64_t i = 1; i < count; ++i) {
        auto value = load_strided<N, kAdjacent>(source + i * distance, stride);
        if (scale != nullptr) value *= scale[i];
        sum += value;
    }
    return sum;
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
