// The steps of an LSTM. The functions of the gates are polynomials of the Cephes library, to 2.3 units in the last place.
#include "kernels/lstm/lstm.h"
#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {
namespace {

// Returns e^x; infinity above 88.4, so that a closed gate is 0, and e^-87 below -87. The sum with kWhole has the rounded exponent of 2 in
// its lowest bits.
template <int N>
inline Vector<float, N> exponential(Vector<float, N> x) {
    constexpr float kLowest = -87, kHighest = 89, kWhole = 0x1.8p23f;
    x = x > kHighest ? Vector<float, N>{} + kHighest : x;
    x = x < kLowest ? Vector<float, N>{} + kLowest : x;
    const Vector<float, N> shifted = x * 1.44269504f + kWhole, n = shifted - kWhole;
    const Vector<float, N> r = x - n * 0.693359375f + n * 2.12194440e-4f;
    const auto higher = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
    const auto sum = ((higher * r + 1.6666665459e-1f) * r + 5.0000001201e-1f) * (r * r) + r + 1.0f;
    const auto power = (load_bytes<Vector<uint32_t, N>>(&shifted) + 127u) << 23;
    return sum * load_bytes<Vector<float, N>>(&power);
}

template <int N>
inline Vector<float, N> sigmoid(Vector<float, N> x) {
    return 1.0f / (1.0f + exponential<N>(-x));
}

template <int N>
inline Vector<float, N> tanh(Vector<float, N> x) {
    const Vector<float, N> square = x * x, magnitude = x < 0.0f ? -x : x;
    const auto higher = ((-5.70498872745e-3f * square + 2.06390887954e-2f) * square - 5.37397155531e-2f) * square;
    const Vector<float, N> near_zero = ((higher + 1.33314422036e-1f) * square - 3.33332819422e-1f) * square * x + x;
    const Vector<float, N> far = 1.0f - 2.0f / (exponential<N>(2.0f * magnitude) + 1.0f);
    return magnitude < 0.625f ? near_zero : x < 0.0f ? -far : far;
}

}  // namespace

void lstm_step_rows(const LstmStep& s, int64_t begin, int64_t end) {
    for (int64_t row = begin * s.units; row < end * s.units; row += s.units)
        for_lanes<float>(s.units, [&](auto width, int64_t unit) {
            constexpr int N = decltype(width)::value;
            const float* const gates = s.gates + 4 * row + unit;
            const int64_t at = row + unit;
            const auto i = sigmoid<N>(load<N>(gates)), f = sigmoid<N>(load<N>(gates + s.units));
            const auto j = tanh<N>(load<N>(gates + 2 * s.units)), o = sigmoid<N>(load<N>(gates + 3 * s.units));
            const Vector<float, N> c = f * load<N>(s.c_before + at) + i * j, tanh_c = tanh<N>(c);
            store<N>(s.i + at, i);
            store<N>(s.j + at, j);
            store<N>(s.f + at, f);
            store<N>(s.o + at, o);
            store<N>(s.c + at, c);
            store<N>(s.tanh_c + at, tanh_c);
            store<N>(s.h + at, o * tanh_c);
        });
}

void lstm_gradient_rows(const LstmGradient& s, int64_t begin, int64_t end) {
    for (int64_t row = begin * s.units; row < end * s.units; row += s.units)
        for_lanes<float>(s.units, [&](auto width, int64_t unit) {
            constexpr int N = decltype(width)::value;
            float* const of_gates = s.of_gates + 4 * row + unit;
            const int64_t at = row + unit;
            const auto i = load<N>(s.i + at), j = load<N>(s.j + at), f = load<N>(s.f + at), o = load<N>(s.o + at);
            const auto tanh_c = load<N>(s.tanh_c + at), of_h = load<N>(s.of_h + at) + load<N>(s.of_output + at);
            const auto of_c = load<N>(s.of_c + at) + of_h * o * (1.0f - tanh_c * tanh_c);
            store<N>(of_gates, of_c * j * i * (1.0f - i));
            store<N>(of_gates + s.units, of_c * load<N>(s.c_before + at) * f * (1.0f - f));
            store<N>(of_gates + 2 * s.units, of_c * i * (1.0f - j * j));
            store<N>(of_gates + 3 * s.units, of_h * tanh_c * o * (1.0f - o));
            store<N>(s.of_c_before + at, of_c * f);
        });
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
