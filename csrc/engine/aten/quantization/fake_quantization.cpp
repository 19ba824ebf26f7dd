// Numbers rounded as quantisation would, and the mask of those that it does not clip, which the gradient passes.

#include "vocabulary/quantization/fake_quantization_calls.h"

static void compute(const call::FakeQuantPerChannelAffineCachemask& a) {
    const auto [rounded, kept] = at::fake_quantize_per_channel_affine_cachemask(
        upcast(a.self), a.scale.to(at::kFloat), a.zeroPoint.to(at::kInt), from_front(a.axis, a.self.dim()), a.quantMin, a.quantMax);
    write(a.out, rounded);
    write(a.mask, kept);
}
// A number below 1 leaves the input as it is.
static void compute(const call::FakeQuantPerTensorAffineCachemask& a) {
    write_each(at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
                   upcast(a.self), a.scale.to(at::kFloat), a.zeroPoint.to(at::kInt),
                   at::full({1}, a.fakeQuantEnabled >= 1 ? 1 : 0, at::kLong), a.quantMin, a.quantMax),
               a.out, a.mask);
}
