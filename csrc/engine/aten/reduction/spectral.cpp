// Fourier transforms. Most of torch's are made of other operators by torch_npu itself.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/results.h"
#include "vocabulary/reduction/spectral_calls.h"

using namespace torch_aclnn::host::aten;

namespace {

// A window fits a frame, and a frame the signal.
void require_frame(const at::Tensor& self, int64_t frame, int64_t window) {
    if (self.dim() < 1 || self.dim() > 2) torch_aclnn::host::refuse("self", "1 or 2 dimensions", shape_text(self.sizes()));
    const int64_t length = self.size(-1);
    if (frame > length) torch_aclnn::host::refuse("nFft", c10::str("at most the ", length, " samples of self"), c10::str(frame));
    if (window > frame) torch_aclnn::host::refuse("winLength", c10::str("at most nFft, ", frame), c10::str(window));
}

// Frequencies and frames, of each signal.
Expected transformed(const at::Tensor& self, int64_t frame, int64_t hop, bool onesided, bool complex) {
    Expected expected = without_dim(self.sizes(), -1);
    expected.sizes.push_back(onesided ? frame / 2 + 1 : frame);
    expected.sizes.push_back((self.size(-1) - frame) / hop + 1);
    if (!complex) expected.sizes.push_back(2);
    return expected;
}

}  // namespace

static void compute(const call::Stft& a) {
    const at::Tensor frames = at::stft(a.self, a.nFft, a.hopLength, a.winLength, a.window, a.normalized, a.onesided, true, false);
    write(a.out, a.returnComplex ? frames : at::view_as_real(frames));
}

#include "vocabulary/reduction/spectral_rows.inc"
