// Fourier transforms. Most of torch's are made of other operators by torch_npu itself.
#include <ATen/ATen.h>

#include "engine/aten/adapter.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

ATEN_ENTRY(aclStft, FLOAT | DOUBLE | COMPLEX, (In, self), (OptIn, window), (Out, out), (Positive, nFft), (Positive, hopLength),
           (Positive, winLength), (Bool, normalized), (Bool, onesided), (Bool, returnComplex)) {
    const at::Tensor transformed = at::stft(self, nFft, hopLength, winLength, window, normalized, onesided, true, false);
    write(out, returnComplex ? transformed : at::view_as_real(transformed));
}
