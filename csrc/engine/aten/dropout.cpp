// Dropout, and the masks that its entry points hand to each other.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/composite/device_seed.h"
#include "engine/aten/composite/dropout_mask.h"

#define ATEN_FAMILY "random"
using namespace torch_aclnn::host::aten;

namespace {

void require_no_noise_shape(const std::optional<at::Tensor>& noise_shape) {
    if (noise_shape) torch_aclnn::host::refuse("optionalNoiseShape", "null", "a tensor");
}

void require_mask(const char* name, const at::Tensor& mask, at::IntArrayRef sizes) {
    if (mask.scalar_type() != at::kByte) torch_aclnn::host::refuse(name, "UINT8", c10::str(mask.scalar_type()));
    require_bits(name, mask, sizes);
}
at::Tensor dropped(const at::Tensor& self, const at::Tensor& mask, double scale) {
    return at::where(unpacked_dropout_mask(mask, self.sizes()), upcast(self) * scale, 0);
}
// What the probability leaves is scaled, and the mask tells what that is.
void drop(at::Tensor& out, at::Tensor& mask_out, const at::Tensor& input, double p, const PhiloxStream& stream) {
    const at::Tensor mask = drawn_dropout_mask(mask_out.sizes(), stream, 1 - p);
    write(out, dropped(input, mask, p == 1 ? 0 : 1 / (1 - p)));
    write(mask_out, mask);
}

}  // namespace

// A mask may have more bytes than there are bits for, as torch_npu makes it.
ATEN_CHECKED_ENTRY(aclnnDropoutGenMask, UINT8, require_bits("out", out, shape), (Shape, shape), (Probability, prob), (Int, seed),
                   (Int, offset), (Out, out, any_shape())) {
    write(out, drawn_dropout_mask(out.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - prob));
}
ATEN_CHECKED_ENTRY(aclnnDropoutGenMaskV2, UINT8, require_bits("out", out, shape), (Shape, shape), (Probability, prob), (Int, seed),
                   (Int, offset), (DType, dataType), (Out, out, any_shape())) {
    write(out, drawn_dropout_mask(out.sizes(), {uint64_t(seed), uint64_t(offset)}, 1 - prob));
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
// Whatever the scale is, the mask decides.
ATEN_CHECKED_ENTRY(aclnnDropoutV3Grad, FLOATING, require_bits("mask", mask, gradY.sizes()), (In, gradY), (Bits, mask), (Double, scale),
                   (Out, gradX, like(gradY))) {
    write(gradX, dropped(gradY, mask, scale));
}
// The mask is left alone where nothing depends on it.
ATEN_CHECKED_ENTRY(aclnnDropout, FLOATING, require_mask("maskOut", maskOut, input.sizes()), (In, input), (Probability, p), (Bool, train),
                   (Int, seed), (Int, offset), (Out, out, shaped_like(input)), (Out, maskOut, any_shape())) {
    if (!train || p == 0) return write(out, input);
    if (p == 1) return write(out, at::zeros_like(input));
    drop(out, maskOut, input, p, {uint64_t(seed), uint64_t(offset)});
}

#define DROPOUT_V3_CHECKS (require_no_noise_shape(optionalNoiseShape), require_mask("maskOut", maskOut, input.sizes()))
ATEN_CHECKED_ENTRY(aclnnDropoutV3, FLOATING, DROPOUT_V3_CHECKS, (In, input), (OptIn, optionalNoiseShape), (Probability, p), (Int, seed),
                   (Int, offset), (Out, out, like(input)), (Out, maskOut, any_shape())) {
    drop(out, maskOut, input, p, {uint64_t(seed), uint64_t(offset)});
}
ATEN_CHECKED_ENTRY(aclnnDropoutV3Tensor, FLOATING, DROPOUT_V3_CHECKS, (In, input), (OptIn, optionalNoiseShape), (Probability, p),
                   (Number, seedTensor), (Number, offsetTensor), (Int, offset), (Out, out, like(input)), (Out, maskOut, any_shape())) {
    drop(out, maskOut, input, p, stream_at(seedTensor, offsetTensor, offset));
}
// What a mask of numbers keeps.
ATEN_ENTRY(aclnnMaskedScale, FLOATING, (In, self), (In, mask, shaped_like(self)), (Double, scale), (Out, y, like(self))) {
    write(y, upcast(self) * upcast(mask) * scale);
}
