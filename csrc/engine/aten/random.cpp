// Random numbers, from the seed and the offset that the caller's generator gives (see philox.h: they are the engine's own).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <utility>

#include "engine/aten/adapter.h"
#include "engine/aten/dropout_mask.h"
#include "engine/aten/philox.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace {

constexpr int64_t kGrain = 1 << 14;  // elements worth a thread

template <class Number, class Draw>
at::Tensor drawn(at::IntArrayRef sizes, Draw draw) {
    at::Tensor numbers = at::empty(sizes, c10::CppTypeToScalarType<Number>::value);
    Number* const first = numbers.data_ptr<Number>();
    at::parallel_for(0, numbers.numel(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) first[i] = draw(i);
    });
    return numbers;
}

at::Tensor normal(at::IntArrayRef sizes, const PhiloxStream& stream) {
    return drawn<double>(sizes, [&](int64_t i) { return stream.normal(i); });
}

int mantissa_digits(at::ScalarType dtype) {
    switch (dtype) {
        case at::kBFloat16: return 8;
        case at::kHalf: return 11;
        case at::kFloat: return 24;
        default: return 53;
    }
}

// Each negative element gets a slope of its own in training. The noise, although an input by its type, becomes what the backward multiplies
// by.
at::Tensor leaky(const at::Tensor& self, const at::Tensor& noise, double lower, double upper, bool training, const PhiloxStream& stream) {
    const at::Tensor x = wide(self);
    if (!training) return at::leaky_relu(x, (lower + upper) / 2);
    const at::Tensor slopes = drawn<double>(x.sizes(), [&](int64_t i) { return lower + (upper - lower) * stream.uniform(i); });
    noise.copy_(at::where(x <= 0, slopes, 1.0).reshape(noise.sizes()));
    return x * noise.reshape(x.sizes());
}

}  // namespace

ATEN_ENTRY(aclnnInplaceNormal, FLOATING | DOUBLE | COMPLEX, (Out, selfRef), (Float, mean), (Float, std), (Int, seed), (Int, offset)) {
    selfRef.copy_(normal(selfRef.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalFloatFloat, FLOATING | DOUBLE | COMPLEX, (Float, mean), (Float, std), (Int, seed), (Int, offset), (Out, out)) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorFloat, FLOATING | DOUBLE | COMPLEX, (In, mean), (Float, std), (Int, seed), (Int, offset), (Out, out)) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalFloatTensor, FLOATING | DOUBLE | COMPLEX, (Float, mean), (In, std), (Int, seed), (Int, offset), (Out, out)) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorTensor, FLOATING | DOUBLE | COMPLEX, (In, mean), (In, std), (Int, seed), (Int, offset), (Out, out)) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}

ATEN_ENTRY(aclnnInplaceUniform, ANY, (Out, selfRef), (Double, from), (Double, to), (Int, seed), (Int, offset)) {
    const PhiloxStream stream(seed, offset);
    const int digits = mantissa_digits(selfRef.scalar_type());
    selfRef.copy_(drawn<double>(selfRef.sizes(), [&](int64_t i) { return stream.uniform(i, digits) * (to - from) + from; }));
}

// Whole numbers of [from, to), in any dtype.
ATEN_ENTRY(aclnnInplaceRandom, ANY, (Out, selfRef), (Int, from), (Int, to), (Int, seed), (Int, offset)) {
    const PhiloxStream stream(seed, offset);
    const uint64_t range = uint64_t(to) - uint64_t(from);
    selfRef.copy_(drawn<int64_t>(selfRef.sizes(), [&](int64_t i) { return int64_t(uint64_t(from) + stream.integer(i, range)); }));
}

ATEN_ENTRY(aclnnInplaceBernoulli, FLOATING | DOUBLE | COMPLEX, (Out, selfRef), (Scalar, prob), (Int, seed), (Int, offset)) {
    const PhiloxStream stream(seed, offset);
    const double p = prob.toDouble();
    selfRef.copy_(drawn<bool>(selfRef.sizes(), [&](int64_t i) { return stream.uniform(i) < p; }));
}
ATEN_ENTRY(aclnnInplaceBernoulliTensor, FLOATING | DOUBLE | COMPLEX, (Out, selfRef), (In, prob), (Int, seed), (Int, offset)) {
    const PhiloxStream stream(seed, offset);
    selfRef.copy_(drawn<double>(selfRef.sizes(), [&](int64_t i) { return stream.uniform(i); }) < prob.to(at::kDouble));
}

ATEN_ENTRY(aclnnRandperm, ANY, (NotNegative, n), (Int, seed), (Int, offset), (Out, out)) {
    const PhiloxStream stream(seed, offset);
    at::Tensor order = at::arange(n, at::kLong);
    int64_t* const first = order.data_ptr<int64_t>();
    for (int64_t i = n - 1; i > 0; i--) std::swap(first[i], first[stream.integer(i, i + 1)]);
    write(out, order);
}

// ATen's algorithm, on a generator of its own for each call.
ATEN_ENTRY(aclnnMultinomial, FLOATING | DOUBLE | COMPLEX, (In, self), (Positive, numsamples), (Bool, replacement), (Int, seed),
           (Int, offset), (Out, out)) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(PhiloxStream(seed, offset).bits(0));
    write(out, at::multinomial(wide(self), numsamples, replacement, generator));
}

// Each element is kept with probability 1 - prob.
ATEN_CHECKED_ENTRY(aclnnDropoutGenMaskV2, ANY, require_bits("out", out, shape), (Shape, shape), (Double, prob), (Int, seed), (Int, offset),
                   (DType, dataType), (Out, out)) {
    const PhiloxStream stream(seed, offset);
    write(out, drawn<uint8_t>(out.sizes(), [&](int64_t byte) {
              uint8_t bits = 0;
              for (int64_t bit = 0; bit < 8; bit++) bits |= (stream.uniform(8 * byte + bit) >= prob) << bit;
              return bits;
          }));
}

// What the mask keeps is scaled, so that the expectation stays the same. The backward is the same call on the gradient.
ATEN_CHECKED_ENTRY(aclnnDropoutDoMask, ANY, require_bits("mask", mask, self.sizes()), (In, self), (In, mask), (Double, prob), (Out, out)) {
    const double scale = prob == 1 ? 0 : 1 / (1 - prob);
    write(out, at::where(unpacked_dropout_mask(mask, self.sizes()), wide(self) * scale, 0));
}

ATEN_ENTRY(aclnnRReluWithNoise, ANY, (In, self), (In, noise), (Scalar, lower), (Scalar, upper), (Bool, training), (Int, seed),
           (Int, offset), (Out, out)) {
    write(out, leaky(self, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
ATEN_ENTRY(aclnnInplaceRReluWithNoise, ANY, (Out, selfRef), (In, noise), (Scalar, lower), (Scalar, upper), (Bool, training), (Int, seed),
           (Int, offset)) {
    selfRef.copy_(leaky(selfRef, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
