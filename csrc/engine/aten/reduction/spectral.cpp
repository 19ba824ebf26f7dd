// Fourier transforms. Most of torch's are made of other operators by torch_npu itself.

#include "vocabulary/reduction/spectral_calls.h"

// The result has frequencies and frames for each signal.
static Expected transformed(const at::Tensor& self, int64_t frame, int64_t hop, bool onesided, bool complex) {
    Expected expected = without_dim(self.sizes(), -1);
    expected.sizes.push_back(onesided ? frame / 2 + 1 : frame);
    expected.sizes.push_back((self.size(-1) - frame) / hop + 1);
    if (!complex) expected.sizes.push_back(2);
    return expected;
}

static void compute(const call::Stft& a) {
    const at::Tensor frames = at::stft(a.self, a.nFft, a.hopLength, a.winLength, a.window, a.normalized, a.onesided, true, false);
    write(a.out, a.returnComplex ? frames : at::view_as_real(frames));
}
