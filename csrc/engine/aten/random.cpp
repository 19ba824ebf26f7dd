// Random numbers, from the seed and the offset that the caller's generator gives (see philox.h: they are the engine's own).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>
#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/device_seed.h"
#include "engine/aten/composite/random_numbers.h"

#define ATEN_FAMILY "random"
using namespace torch_aclnn::host::aten;

namespace {

// Without replacement, no more than there are.
void require_draws(int64_t draws, bool replacement, const at::Tensor& self) {
    if (self.dim() < 1 || self.dim() > 2 || self.size(-1) == 0)
        torch_aclnn::host::refuse("self", "1 or 2 dimensions, and at least one category", shape_text(self.sizes()));
    const int64_t categories = self.size(-1);
    if (!replacement && draws > categories)
        torch_aclnn::host::refuse("numsamples", c10::str("at most the ", categories, " categories, without replacement"), c10::str(draws));
}

void fill_uniform(at::Tensor& out, double from, double to, const PhiloxStream& stream) {
    const int digits = mantissa_digits(out.scalar_type());
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return stream.uniform(i, digits) * (to - from) + from; }));
}

// Whole numbers of [from, to), in any dtype.
void fill_random(at::Tensor& out, int64_t from, int64_t to, const PhiloxStream& stream) {
    const uint64_t range = uint64_t(to) - uint64_t(from);
    out.copy_(drawn<int64_t>(out.sizes(), [&](int64_t i) { return int64_t(uint64_t(from) + stream.integer(i, range)); }));
}

// Whole numbers from 0 to the largest that the type has, of floating point types those up to which it has each.
void fill_random(at::Tensor& out, const PhiloxStream& stream) {
    int64_t range = 2;  // of BOOL
    if (out.is_floating_point())
        range = (int64_t{1} << mantissa_digits(out.scalar_type())) + 1;
    else if (out.scalar_type() != at::kBool)
        range = int64_t(uint64_t{1} << (8 * out.element_size() - (at::isSignedType(out.scalar_type()) ? 1 : 0)));
    fill_random(out, 0, range, stream);
}

void fill_bernoulli(at::Tensor& out, const at::Tensor& prob, const PhiloxStream& stream) {
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return stream.uniform(i); }) < prob.to(at::kDouble));
}

void fill_exponential(at::Tensor& out, double lambda, const PhiloxStream& stream) {
    out.copy_(drawn<double>(out.sizes(), [&](int64_t i) { return -std::log1p(-stream.uniform(i)) / lambda; }));
}
void require_rate(double lambda) {
    require_number_between("lambd", lambda, std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity());
}

// ATen's algorithm, on a generator of its own for each call.
void write_multinomial(at::Tensor& out, const at::Tensor& self, int64_t draws, bool replacement, const PhiloxStream& stream) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(stream.bits(0));
    write(out, at::multinomial(upcast(self), draws, replacement, generator));
}

}  // namespace

ATEN_ENTRY(aclnnInplaceNormal, FLOATING | DOUBLE, (InOut, selfRef), (Float, mean), (Float, std), (Int, seed), (Int, offset)) {
    selfRef.copy_(normal(selfRef.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
// The caller chooses the shape.
ATEN_ENTRY(aclnnNormalFloatFloat, FLOAT | FLOAT16 | DOUBLE, (Float, mean), (Float, std), (Int, seed), (Int, offset),
           (Out, out, any_shape())) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorFloat, FLOAT | FLOAT16 | DOUBLE, (In, mean), (Float, std), (Int, seed), (Int, offset),
           (Out, out, shaped_like(mean))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalFloatTensor, FLOAT | FLOAT16 | DOUBLE, (Float, mean), (In, std), (Int, seed), (Int, offset),
           (Out, out, shaped_like(std))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorTensor, FLOAT | FLOAT16 | DOUBLE, (In, mean), (In, std), (Int, seed), (Int, offset),
           (Out, out, broadcast({{"mean", mean}, {"std", std}}))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}

ATEN_ENTRY(aclnnInplaceUniform, REAL | BOOL, (InOut, selfRef), (Double, from), (Double, to), (Int, seed), (Int, offset)) {
    fill_uniform(selfRef, from, to, {uint64_t(seed), uint64_t(offset)});
}

ATEN_ENTRY(aclnnInplaceRandom, NUMBERS, (InOut, selfRef), (Int, from), (Int, to), (Int, seed), (Int, offset)) {
    fill_random(selfRef, from, to, {uint64_t(seed), uint64_t(offset)});
}
ATEN_ENTRY(aclnnInplaceRandomWithoutFromTo, ANY, (InOut, selfRef), (Int, seed), (Int, offset)) {
    fill_random(selfRef, {uint64_t(seed), uint64_t(offset)});
}
ATEN_CHECKED_ENTRY(aclnnSimThreadExponential, FLOATING,
                   (require_as_many({{"count", count}}, {"selfRef", selfRef.numel()}), require_rate(lambd)), (InOut, selfRef), (Int, count),
                   (Double, lambd), (Int, seed), (Int, offset)) {
    fill_exponential(selfRef, lambd, PhiloxStream(seed, offset));
}

ATEN_ENTRY(aclnnInplaceBernoulli, REAL | BOOL, (InOut, selfRef), (Scalar, prob), (Int, seed), (Int, offset)) {
    fill_bernoulli(selfRef, at::scalar_tensor(prob, at::kDouble), {uint64_t(seed), uint64_t(offset)});
}
ATEN_ENTRY(aclnnBernoulli, REAL | BOOL, (In, self), (Scalar, prob), (Int, seed), (Int, offset), (Out, out, shaped_like(self))) {
    fill_bernoulli(out, at::scalar_tensor(prob, at::kDouble), {uint64_t(seed), uint64_t(offset)});
}
ATEN_ENTRY(aclnnInplaceBernoulliTensor, REAL | BOOL, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"prob", prob}})), (In, prob),
           (Int, seed), (Int, offset)) {
    fill_bernoulli(selfRef, prob, {uint64_t(seed), uint64_t(offset)});
}
ATEN_ENTRY(aclnnBernoulliTensor, REAL | BOOL, (In, self), (In, prob, broadcasts_to(self)), (Int, seed), (Int, offset),
           (Out, out, shaped_like(self))) {
    fill_bernoulli(out, prob, {uint64_t(seed), uint64_t(offset)});
}

ATEN_ENTRY(aclnnRandperm, REAL, (NotNegative, n), (Int, seed), (Int, offset), (Out, out, shape({n}))) {
    const PhiloxStream stream(seed, offset);
    at::Tensor order = at::arange(n, at::kLong);
    int64_t* const first = order.data_ptr<int64_t>();
    for (int64_t i = n - 1; i > 0; i--) std::swap(first[i], first[stream.integer(i, i + 1)]);
    write(out, order);
}

ATEN_CHECKED_ENTRY(aclnnMultinomial, FLOATING | DOUBLE, require_draws(numsamples, replacement, self), (In, self), (Positive, numsamples),
                   (Bool, replacement), (Int, seed), (Int, offset), (Out, out, with_size(self.sizes(), -1, numsamples))) {
    write_multinomial(out, self, numsamples, replacement, {uint64_t(seed), uint64_t(offset)});
}

// Random numbers with the seed and the offset in device memory, where torch_npu changes them between the replays of a graph: so each
// replay draws other numbers.
ATEN_ENTRY(aclnnInplaceNormalTensor, REAL | BOOL, (InOut, selfRef), (Float, mean), (Float, std), (Number, seedTensor),
           (Number, offsetTensor), (Int, offset)) {
    selfRef.copy_(normal(selfRef.sizes(), stream_at(seedTensor, offsetTensor, offset)) * std + mean);
}
ATEN_ENTRY(aclnnInplaceUniformTensor, REAL, (InOut, selfRef), (Double, from), (Double, to), (Number, seedTensor), (Number, offsetTensor),
           (Int, offset)) {
    fill_uniform(selfRef, from, to, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_ENTRY(aclnnInplaceRandomTensor, NUMBERS, (InOut, selfRef), (Int, from), (Int, to), (Number, seedTensor), (Number, offsetTensor),
           (Int, offset)) {
    fill_random(selfRef, from, to, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_ENTRY(aclnnInplaceRandomWithoutFromToTensor, ANY, (InOut, selfRef), (Number, seedTensor), (Number, offsetTensor), (Int, offset)) {
    fill_random(selfRef, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_CHECKED_ENTRY(aclnnStatelessExponentialTensor, ANY, require_rate(lambd), (InOut, selfRef), (Number, seedTensor),
                   (Number, offsetTensor), (Int, offset), (Double, lambd)) {
    fill_exponential(selfRef, lambd, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_CHECKED_ENTRY(aclnnMultinomialTensor, FLOATING | DOUBLE, require_draws(numsamples, replacement, self), (In, self),
                   (Positive, numsamples), (Bool, replacement), (Number, seedTensor), (Number, offsetTensor), (Int, offset),
                   (Out, out, with_size(self.sizes(), -1, numsamples))) {
    write_multinomial(out, self, numsamples, replacement, stream_at(seedTensor, offsetTensor, offset));
}
// Only training reads the noise.
ATEN_ENTRY(aclnnRReluWithNoise, FLOATING, (In, self), (In, noise, as_many_as(training ? self : noise)), (Scalar, lower), (Scalar, upper),
           (Bool, training), (Int, seed), (Int, offset), (Out, out, like(self))) {
    write(out, leaky(self, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
ATEN_ENTRY(aclnnInplaceRReluWithNoise, FLOATING, (InOut, selfRef), (In, noise, as_many_as(training ? selfRef : noise)), (Scalar, lower),
           (Scalar, upper), (Bool, training), (Int, seed), (Int, offset)) {
    selfRef.copy_(leaky(selfRef, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
