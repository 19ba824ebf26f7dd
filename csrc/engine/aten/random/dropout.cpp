// Dropout, and the masks that its entry points hand to each other.

#include "engine/aten/random/dropout_mask.h"
#include "engine/aten/random/random_numbers.h"
#include "vocabulary/random/dropout_calls.h"

static at::Tensor dropped(const at::Tensor& self, const at::Tensor& mask, double scale) {
    return at::where(unpacked_dropout_mask(mask, self.sizes()), upcast(self) * scale, 0);
}
// Zeroes elements with probability p and scales the others by 1 / (1 - p); the mask has a 1 for each element that is kept.
static void drop(at::Tensor& out, at::Tensor& mask_out, const at::Tensor& input, double p, const PhiloxStream& stream) {
    const at::Tensor mask = drawn_dropout_mask(mask_out.sizes(), stream, 1 - p);
    write(out, dropped(input, mask, p == 1 ? 0 : 1 / (1 - p)));
    write(mask_out, mask);
}

static void compute(const call::DropoutBackward& a) {
    if (a.scale == 1) return write(a.out, a.gradOutput);  // with a scale of 1 nothing was dropped, whatever the mask says
    write(a.out, a.scale == 0 ? at::zeros_like(a.gradOutput) : dropped(a.gradOutput, a.mask, a.scale));
}
// The mask is left alone where nothing depends on it.
static void compute(const call::Dropout& a) {
    if (!a.train || a.p == 0) return write(a.out, a.input);
    if (a.p == 1) return write(a.out, at::zeros_like(a.input));
    drop(a.out, a.maskOut, a.input, a.p, {uint64_t(a.seed), uint64_t(a.offset)});
}
