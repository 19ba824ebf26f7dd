// Fourier transforms. Most of torch's are made of other operators by torch_npu itself.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "spectral"
using namespace torch_aclnn::host::aten;

namespace {

// A window fits a frame, and a frame the signal.
void require_frame(const at::Tensor& self, int64_t frame, int64_t window) {
    const int64_t length = self.dim() == 0 ? 0 : self.size(-1);
    if (frame > length) torch_aclnn::host::refuse("nFft", c10::str("at most the ", length, " samples of self"), c10::str(frame));
    if (window > frame) torch_aclnn::host::refuse("winLength", c10::str("at most nFft, ", frame), c10::str(window));
}

}  // namespace

ATEN_CHECKED_ENTRY(aclStft, FLOAT | DOUBLE | COMPLEX, require_frame(self, nFft, winLength), (In, self), (OptIn, window), (Out, out),
                   (Positive, nFft), (Positive, hopLength), (Positive, winLength), (Bool, normalized), (Bool, onesided),
                   (Bool, returnComplex)) {
    const at::Tensor transformed = at::stft(self, nFft, hopLength, winLength, window, normalized, onesided, true, false);
    write(out, returnComplex ? transformed : at::view_as_real(transformed));
}
