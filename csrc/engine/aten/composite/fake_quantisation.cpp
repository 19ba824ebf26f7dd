// Numbers rounded as quantisation would, and the mask of those that it does not clip, which the gradient passes.
#include <ATen/ATen.h>

#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "quantisation"
using namespace torch_aclnn::host::aten;

static void require_range_of_levels(int64_t least, int64_t most) {
    if (least > most) torch_aclnn::host::refuse("quantMin", c10::str("at most quantMax, ", most), c10::str(least));
}

namespace torch_aclnn::host::aten::kind {
using Level = Between<int64_t, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()>;
struct ZeroPoints : In {
    ATEN_TYPES(In, INT32 | FLOAT16 | FLOAT);
};
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnFakeQuantPerChannelAffineCachemask, FLOAT | FLOAT16, require_range_of_levels(quantMin, quantMax),
                   (In, self, rank_from(1)), (In, scale, shape({size_of(self, axis)})),
                   (ZeroPoints, zeroPoint, shape({size_of(self, axis)})), (Dim, axis), (Level, quantMin), (Level, quantMax),
                   (Out, out, like(self)), (Truth, mask, shaped_like(self))) {
    const auto [rounded, kept] = at::fake_quantize_per_channel_affine_cachemask(upcast(self), scale.to(at::kFloat), zeroPoint.to(at::kInt),
                                                                                from_front(axis, self.dim()), quantMin, quantMax);
    write(out, rounded);
    write(mask, kept);
}
// With any number below 1 the input stays as it is.
ATEN_CHECKED_ENTRY(aclnnFakeQuantPerTensorAffineCachemask, FLOAT | FLOAT16, require_range_of_levels(quantMin, quantMax), (In, self),
                   (In, scale, elements(1)), (ZeroPoints, zeroPoint, elements(1)), (Float, fakeQuantEnabled), (Level, quantMin),
                   (Level, quantMax), (Out, out, like(self)), (Truth, mask, shaped_like(self))) {
    const auto [rounded, kept] = at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        upcast(self), scale.to(at::kFloat), zeroPoint.to(at::kInt), at::full({1}, fakeQuantEnabled >= 1 ? 1 : 0, at::kLong), quantMin,
        quantMax);
    write(out, rounded);
    write(mask, kept);
}
