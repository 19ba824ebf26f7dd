// Random numbers, from the seed and the offset that the caller's generator gives (see philox.h: they are the engine's own).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/dropout_mask.h"
#include "engine/aten/composite/random_numbers.h"

ATEN_FAMILY("random")

using namespace torch_aclnn::host::aten;

namespace {

// Without replacement, no more than there are.
void require_draws(int64_t draws, bool replacement, const at::Tensor& self) {
    const int64_t categories = self.dim() == 0 ? 0 : self.size(-1);
    if (!replacement && draws > categories)
        torch_aclnn::host::refuse("numsamples", c10::str("at most the ", categories, " categories, without replacement"), c10::str(draws));
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
ATEN_CHECKED_ENTRY(aclnnMultinomial, FLOATING | DOUBLE | COMPLEX, require_draws(numsamples, replacement, self), (In, self),
                   (Positive, numsamples), (Bool, replacement), (Int, seed), (Int, offset), (Out, out)) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(PhiloxStream(seed, offset).bits(0));
    write(out, at::multinomial(upcast(self), numsamples, replacement, generator));
}

// Each element is kept with probability 1 - prob.
ATEN_CHECKED_ENTRY(aclnnDropoutGenMaskV2, ANY, require_bits("out", out, shape), (Shape, shape), (Probability, prob), (Int, seed),
                   (Int, offset), (DType, dataType), (Out, out)) {
    write(out, drawn_dropout_mask(out.sizes(), {uint64_t(seed), uint64_t(offset)}, prob));
}

// What the mask keeps is scaled, so that the expectation stays the same. The backward is the same call on the gradient.
ATEN_CHECKED_ENTRY(aclnnDropoutDoMask, ANY, require_bits("mask", mask, self.sizes()), (In, self), (In, mask), (Probability, prob),
                   (Out, out)) {
    const double scale = prob == 1 ? 0 : 1 / (1 - prob);
    write(out, at::where(unpacked_dropout_mask(mask, self.sizes()), upcast(self) * scale, 0));
}

ATEN_ENTRY(aclnnRReluWithNoise, ANY, (In, self), (In, noise), (Scalar, lower), (Scalar, upper), (Bool, training), (Int, seed),
           (Int, offset), (Out, out)) {
    write(out, leaky(self, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
ATEN_ENTRY(aclnnInplaceRReluWithNoise, ANY, (Out, selfRef), (In, noise), (Scalar, lower), (Scalar, upper), (Bool, training), (Int, seed),
           (Int, offset)) {
    selfRef.copy_(leaky(selfRef, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
