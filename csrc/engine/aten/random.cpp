// Random numbers, from the seed and the offset that the caller's generator gives (see philox.h: they are the engine's own).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>
#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/dropout_mask.h"
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

// A seed or an offset in device memory: one number that is read when the operator runs.
at::Tensor read_number(const char* name, const aclTensor* handle) {
    at::Tensor number = read_tensor(name, handle);
    if (number.scalar_type() != at::kLong || number.numel() != 1)
        torch_aclnn::host::refuse(name, "one element of INT64", c10::str(number.sizes(), " of ", number.scalar_type()));
    return number;
}

// With the offset of the operator within the graph.
PhiloxStream stream_at(const at::Tensor& seed, const at::Tensor& offset_of_graph, int64_t offset) {
    return {uint64_t(seed.item<int64_t>()), uint64_t(offset_of_graph.item<int64_t>()) + uint64_t(offset)};
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

void require_rate(int64_t count, const at::Tensor& self, double lambda) {
    require_as_many({{"count", count}}, {"selfRef", self.numel()});
    require_number_between("lambd", lambda, std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity());
}

void require_no_noise_shape(const std::optional<at::Tensor>& noise_shape) {
    if (noise_shape) torch_aclnn::host::refuse("optionalNoiseShape", "null", "a tensor");
}

// ATen's algorithm, on a generator of its own for each call.
void write_multinomial(at::Tensor& out, const at::Tensor& self, int64_t draws, bool replacement, const PhiloxStream& stream) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(stream.bits(0));
    write(out, at::multinomial(upcast(self), draws, replacement, generator));
}

void require_mask(const char* name, const at::Tensor& mask, at::IntArrayRef sizes) {
    if (mask.scalar_type() != at::kByte) torch_aclnn::host::refuse(name, "UINT8", c10::str(mask.scalar_type()));
    require_bits(name, mask, sizes);
}
at::Tensor dropped(const at::Tensor& self, const at::Tensor& mask, double scale) {
    return at::where(unpacked_dropout_mask(mask, self.sizes()), upcast(self) * scale, 0);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using Number = Kind<const aclTensor*, at::Tensor, const at::Tensor&, read_number>;
}  // namespace torch_aclnn::host::aten::kind

ATEN_ENTRY(aclnnInplaceNormal, FLOATING | DOUBLE | COMPLEX, (InOut, selfRef), (Float, mean), (Float, std), (Int, seed), (Int, offset)) {
    selfRef.copy_(normal(selfRef.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
// The caller chooses the shape.
ATEN_ENTRY(aclnnNormalFloatFloat, FLOATING | DOUBLE | COMPLEX, (Float, mean), (Float, std), (Int, seed), (Int, offset),
           (Out, out, any_shape())) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorFloat, FLOATING | DOUBLE | COMPLEX, (In, mean), (Float, std), (Int, seed), (Int, offset),
           (Out, out, shaped_like(mean))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalFloatTensor, FLOATING | DOUBLE | COMPLEX, (Float, mean), (In, std), (Int, seed), (Int, offset),
           (Out, out, shaped_like(std))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}
ATEN_ENTRY(aclnnNormalTensorTensor, FLOAT | FLOAT16 | DOUBLE, (In, mean), (In, std), (Int, seed), (Int, offset),
           (Out, out, broadcast({{"mean", mean}, {"std", std}}))) {
    out.copy_(normal(out.sizes(), {uint64_t(seed), uint64_t(offset)}) * std + mean);
}

ATEN_ENTRY(aclnnInplaceUniform, ANY, (InOut, selfRef), (Double, from), (Double, to), (Int, seed), (Int, offset)) {
    fill_uniform(selfRef, from, to, {uint64_t(seed), uint64_t(offset)});
}

ATEN_ENTRY(aclnnInplaceRandom, ANY, (InOut, selfRef), (Int, from), (Int, to), (Int, seed), (Int, offset)) {
    fill_random(selfRef, from, to, {uint64_t(seed), uint64_t(offset)});
}
ATEN_ENTRY(aclnnInplaceRandomWithoutFromTo, ANY, (InOut, selfRef), (Int, seed), (Int, offset)) {
    fill_random(selfRef, {uint64_t(seed), uint64_t(offset)});
}
ATEN_CHECKED_ENTRY(aclnnSimThreadExponential, ANY, require_rate(count, selfRef, lambd), (InOut, selfRef), (Int, count), (Double, lambd),
                   (Int, seed), (Int, offset)) {
    const PhiloxStream stream(seed, offset);
    selfRef.copy_(drawn<double>(selfRef.sizes(), [&](int64_t i) { return -std::log1p(-stream.uniform(i)) / lambd; }));
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

// A mask may have more bytes than there are bits for, as torch_npu makes it.
ATEN_CHECKED_ENTRY(aclnnDropoutGenMask, UINT8, require_bits("out", out, shape), (Shape, shape), (Probability, prob), (Int, seed),
                   (Int, offset), (Out, out, any_shape())) {
    write(out, drawn_dropout_mask(out.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - prob));
}
ATEN_CHECKED_ENTRY(aclnnDropoutGenMaskV2, ANY, require_bits("out", out, shape), (Shape, shape), (Probability, prob), (Int, seed),
                   (Int, offset), (DType, dataType), (Out, out, any_shape())) {
    write(out, drawn_dropout_mask(out.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - prob));
}

// Random numbers with the seed and the offset in device memory, where torch_npu changes them between the replays of a graph: so each
// replay draws other numbers.
ATEN_ENTRY(aclnnInplaceNormalTensor, REAL | BOOL, (InOut, selfRef), (Float, mean), (Float, std), (Number, seedTensor),
           (Number, offsetTensor), (Int, offset)) {
    selfRef.copy_(normal(selfRef.sizes(), stream_at(seedTensor, offsetTensor, offset)) * std + mean);
}
ATEN_ENTRY(aclnnInplaceUniformTensor, ANY, (InOut, selfRef), (Double, from), (Double, to), (Number, seedTensor), (Number, offsetTensor),
           (Int, offset)) {
    fill_uniform(selfRef, from, to, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_ENTRY(aclnnInplaceRandomTensor, ANY, (InOut, selfRef), (Int, from), (Int, to), (Number, seedTensor), (Number, offsetTensor),
           (Int, offset)) {
    fill_random(selfRef, from, to, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_ENTRY(aclnnInplaceRandomWithoutFromToTensor, ANY, (InOut, selfRef), (Number, seedTensor), (Number, offsetTensor), (Int, offset)) {
    fill_random(selfRef, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_CHECKED_ENTRY(aclnnMultinomialTensor, FLOATING | DOUBLE, require_draws(numsamples, replacement, self), (In, self),
                   (Positive, numsamples), (Bool, replacement), (Number, seedTensor), (Number, offsetTensor), (Int, offset),
                   (Out, out, with_size(self.sizes(), -1, numsamples))) {
    write_multinomial(out, self, numsamples, replacement, stream_at(seedTensor, offsetTensor, offset));
}
ATEN_CHECKED_ENTRY(aclnnDropoutGenMaskV2Tensor, INT64, require_bits("out", out, shape), (Shape, shape), (Probability, prob),
                   (Number, seedTensor), (Number, offsetTensor), (Int, offset), (DType, dataType), (Out, out, any_shape())) {
    write(out, drawn_dropout_mask(out.sizes(), stream_at(seedTensor, offsetTensor, offset), 1 - prob));
}

namespace torch_aclnn::host::aten::kind {
struct Bits : In {
    ATEN_TYPES(In, UINT8);
};
}  // namespace torch_aclnn::host::aten::kind

// What the mask keeps is scaled, so that the expectation stays the same. The backward is the same call on the gradient.
ATEN_CHECKED_ENTRY(aclnnDropoutDoMask, FLOATING, require_bits("mask", mask, self.sizes()), (In, self), (Bits, mask), (Probability, prob),
                   (Out, out, like(self))) {
    write(out, dropped(self, mask, prob == 1 ? 0 : 1 / (1 - prob)));
}
ATEN_CHECKED_ENTRY(aclnnDropoutBackward, FLOATING, require_bits("mask", mask, gradOutput.sizes()), (In, gradOutput), (Bits, mask),
                   (Double, scale), (Out, out, shaped_like(gradOutput))) {
    if (scale == 1) return write(out, gradOutput);  // whatever the mask says: nothing was dropped
    write(out, scale == 0 ? at::zeros_like(gradOutput) : dropped(gradOutput, mask, scale));
}
// The mask is left alone where nothing depends on it.
ATEN_CHECKED_ENTRY(aclnnDropout, FLOATING, require_mask("maskOut", maskOut, input.sizes()), (In, input), (Probability, p), (Bool, train),
                   (Int, seed), (Int, offset), (Out, out, shaped_like(input)), (Out, maskOut, any_shape())) {
    if (!train || p == 0) return write(out, input);
    if (p == 1) return write(out, at::zeros_like(input));
    const at::Tensor mask = drawn_dropout_mask(maskOut.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - p);
    write(out, dropped(input, mask, 1 / (1 - p)));
    write(maskOut, mask);
}

ATEN_CHECKED_ENTRY(aclnnDropoutV3, FLOATING, (require_no_noise_shape(optionalNoiseShape), require_mask("maskOut", maskOut, input.sizes())),
                   (In, input), (OptIn, optionalNoiseShape), (Probability, p), (Int, seed), (Int, offset), (Out, out, like(input)),
                   (Out, maskOut, any_shape())) {
    const at::Tensor mask = drawn_dropout_mask(maskOut.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - p);
    write(out, dropped(input, mask, p == 1 ? 0 : 1 / (1 - p)));
    write(maskOut, mask);
}
// What a mask of numbers keeps.
ATEN_ENTRY(aclnnMaskedScale, FLOATING, (In, self), (In, mask, shaped_like(self)), (Double, scale), (Out, y, like(self))) {
    write(y, upcast(self) * upcast(mask) * scale);
}

// Only training reads the noise.
ATEN_ENTRY(aclnnRReluWithNoise, ANY, (In, self), (In, noise, as_many_as(training ? self : noise)), (Scalar, lower), (Scalar, upper),
           (Bool, training), (Int, seed), (Int, offset), (Out, out, like(self))) {
    write(out, leaky(self, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
ATEN_ENTRY(aclnnInplaceRReluWithNoise, ANY, (InOut, selfRef), (In, noise, as_many_as(training ? selfRef : noise)), (Scalar, lower),
           (Scalar, upper), (Bool, training), (Int, seed), (Int, offset)) {
    selfRef.copy_(leaky(selfRef, noise, lower.toDouble(), upper.toDouble(), training, PhiloxStream(seed, offset)));
}
