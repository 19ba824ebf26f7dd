// Pooling and unpooling. The 2D backwards of average pooling and the 3D backward of unpooling are operators of their own, in libopapi.
#include <ATen/ATen.h>

#include "engine/aten/adapter.h"
#include "engine/aten/max_pool_mask.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace {

std::optional<int64_t> divisor(int64_t override) {
    return override == 0 ? std::nullopt : std::optional(override);
}

}  // namespace

ATEN_ENTRY(aclnnAvgPool2d, FLOATING, (In, self), (OneOr<2>, kernelSize), (NoneOr<2>, stride), (OneOr<2>, padding), (Bool, ceilMode),
           (Bool, countIncludePad), (Int, divisorOverride), (CubeMathType, cubeMathType), (Out, out)) {
    write(out, at::avg_pool2d(wide(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}
ATEN_ENTRY(aclnnAvgPool3d, ANY, (In, self), (OneOr<3>, kernelSize), (NoneOr<3>, stride), (OneOr<3>, padding), (Bool, ceilMode),
           (Bool, countIncludePad), (Int, divisorOverride), (Out, out)) {
    write(out, at::avg_pool3d(wide(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}
ATEN_ENTRY(aclnnAvgPool3dBackward, FLOATING, (In, gradOutput), (In, self), (OneOr<3>, kernelSize), (NoneOr<3>, stride), (OneOr<3>, padding),
           (Bool, ceilMode), (Bool, countIncludePad), (Int, divisorOverride), (Out, out)) {
    write(out, at::avg_pool3d_backward(wide(gradOutput), wide(self), kernelSize, stride, padding, ceilMode, countIncludePad,
                                       divisor(divisorOverride)));
}

ATEN_ENTRY(aclnnAdaptiveAvgPool2d, FLOATING, (In, self), (Exactly<2>, outputSize), (Out, out)) {
    write(out, at::_adaptive_avg_pool2d(wide(self), outputSize));
}
ATEN_ENTRY(aclnnAdaptiveAvgPool3d, FLOATING, (In, self), (Exactly<3>, outputSize), (Out, out)) {
    write(out, at::_adaptive_avg_pool3d(wide(self), outputSize));
}
ATEN_ENTRY(aclnnAdaptiveAvgPool3dBackward, FLOATING, (In, gradOutput), (In, self), (Out, out)) {
    write(out, at::_adaptive_avg_pool3d_backward(wide(gradOutput), wide(self)));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool2d, ANY, (In, self), (Exactly<2>, outputSize), (Out, outputOut), (Out, indicesOut)) {
    const auto [maxima, indices] = at::adaptive_max_pool2d(wide(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool2dBackward, ANY, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
    write(gradInput, at::adaptive_max_pool2d_backward(wide(gradOutput), wide(self), indices.to(at::kLong)));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool3d, FLOATING | DOUBLE, (In, self), (Exactly<3>, outputSize), (Out, outputOut), (Out, indicesOut)) {
    const auto [maxima, indices] = at::adaptive_max_pool3d(wide(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool3dBackward, FLOATING | DOUBLE, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
    write(gradInput, at::adaptive_max_pool3d_backward(wide(gradOutput), wide(self), indices.to(at::kLong)));
}

// The form that torch_npu uses on the A2: it calls the mask "indices", and only the backward reads it.
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMask, FLOATING, require_mask(indices, out.sizes(), kernelSize), (In, self), (OneOr<2>, kernelSize),
                   (NoneOr<2>, stride), (OneOr<2>, padding), (OneOr<2>, dilation), (Bool, ceilMode), (Out, out), (Out, indices)) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(wide(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    MaxPoolMask(self, positions.sizes(), kernelSize, stride, padding, dilation).store(positions, indices);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMaskBackward, FLOATING, require_mask(indices, gradOutput.sizes(), kernelSize), (In, gradOutput),
                   (In, self), (In, indices), (OneOr<2>, kernelSize), (NoneOr<2>, stride), (OneOr<2>, padding), (OneOr<2>, dilation),
                   (Bool, ceilMode), (Out, gradInput)) {
    const at::Tensor positions = MaxPoolMask(self, gradOutput.sizes(), kernelSize, stride, padding, dilation).load(indices);
    write(gradInput,
          at::max_pool2d_with_indices_backward(wide(gradOutput), wide(self), kernelSize, stride, padding, dilation, ceilMode, positions));
}

// Here the indices are ATen's: flat positions in the plane.
ATEN_ENTRY(aclnnMaxPool2dWithIndices, FLOATING, (In, self), (OneOr<2>, kernelSize), (NoneOr<2>, stride), (OneOr<2>, padding),
           (OneOr<2>, dilation), (Bool, ceilMode), (Out, out), (Out, indices)) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(wide(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_ENTRY(aclnnMaxPool2dWithIndicesBackward, FLOATING, (In, gradOutput), (In, self), (In, indices), (OneOr<2>, kernelSize),
           (NoneOr<2>, stride), (OneOr<2>, padding), (OneOr<2>, dilation), (Bool, ceilMode), (Out, gradInput)) {
    write(gradInput, at::max_pool2d_with_indices_backward(wide(gradOutput), wide(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          indices.to(at::kLong)));
}

// Flat positions in the volume.
ATEN_ENTRY(aclnnMaxPool3dWithArgmax, FLOATING, (In, self), (OneOr<3>, kernelSize), (NoneOr<3>, stride), (OneOr<3>, padding),
           (OneOr<3>, dilation), (Bool, ceilMode), (Out, out), (Out, indices)) {
    const auto [maxima, positions] = at::max_pool3d_with_indices(wide(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_ENTRY(aclnnMaxPool3dWithArgmaxBackward, FLOATING, (In, gradOutput), (In, self), (In, indices), (OneOr<3>, kernelSize),
           (NoneOr<3>, stride), (OneOr<3>, padding), (OneOr<3>, dilation), (Bool, ceilMode), (Out, gradInput)) {
    write(gradInput, at::max_pool3d_with_indices_backward(wide(gradOutput), wide(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          indices.to(at::kLong)));
}

ATEN_ENTRY(aclnnMaxUnpool2d, REAL, (In, self), (In, indices), (Exactly<2>, outputSize), (Out, out)) {
    write(out, at::max_unpool2d(wide(self), indices.to(at::kLong), outputSize));
}
ATEN_ENTRY(aclnnMaxUnpool3d, REAL, (In, self), (In, indices), (Exactly<3>, outputSize), (Exactly<3>, stride), (Exactly<3>, padding),
           (Out, out)) {
    write(out, at::max_unpool3d(wide(self), indices.to(at::kLong), outputSize, stride, padding));
}
