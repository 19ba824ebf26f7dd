// Resampling: upsampling and grid sampling.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "upsample"
using namespace torch_aclnn::host::aten;

namespace {

// An absent scale comes as 0, as -1 or as 1, depending on the operator; then the ratio of the sizes counts, which is also what 1 gives.
std::optional<double> scale(double value) {
    return value <= 0 || value == 1 ? std::nullopt : std::optional(value);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using GridSize = CountedInts<4, 5, 5>;
using Interpolation2D = Between<int64_t, 0, 2>;  // bilinear, nearest, bicubic
using Interpolation3D = Between<int64_t, 0, 1>;
using PaddingMode = Between<int64_t, 0, 2>;  // zeros, border, reflection
}  // namespace torch_aclnn::host::aten::kind

ATEN_ENTRY(aclnnUpsampleNearest1dV2, ANY, (In, self), (PositiveSizes<1>, outputSize), (Float, scaleL), (Out, out)) {
    write(out, at::upsample_nearest1d(upcast(self), outputSize, scale(scaleL)));
}
ATEN_ENTRY(aclnnUpsampleNearest1dBackward, FLOATING | DOUBLE, (In, gradOutput), (PositiveSizes<1>, outputSize), (Sizes<3>, inputSize),
           (Double, scales), (Out, gradInput)) {
    write(gradInput, at::upsample_nearest1d_backward(upcast(gradOutput), outputSize, inputSize, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleNearest2d, FLOATING | DOUBLE | UINT8, (In, self), (PositiveSizes<2>, outputSize), (Out, out)) {
    write(out, at::upsample_nearest2d(upcast(self), outputSize));
}
ATEN_ENTRY(aclnnUpsampleNearest2dV2, ANY, (In, self), (PositiveSizes<2>, outputSize), (Float, scalesH), (Float, scalesW), (Out, out)) {
    write(out, at::upsample_nearest2d(upcast(self), outputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest2dBackward, FLOATING, (In, gradOutput), (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize),
           (Double, scalesH), (Double, scalesW), (Out, gradInput)) {
    write(gradInput, at::upsample_nearest2d_backward(upcast(gradOutput), outputSize, inputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest3d, ANY, (In, self), (PositiveSizes<3>, outputSize), (Double, scalesD), (Double, scalesH), (Double, scalesW),
           (Out, out)) {
    write(out, at::upsample_nearest3d(upcast(self), outputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest3dBackward, FLOATING | DOUBLE, (In, gradOutput), (PositiveSizes<3>, outputSize), (Sizes<5>, inputSize),
           (Double, scalesD), (Double, scalesH), (Double, scalesW), (Out, gradInput)) {
    write(gradInput,
          at::upsample_nearest3d_backward(upcast(gradOutput), outputSize, inputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact2d, ANY, (In, self), (PositiveSizes<2>, outputSize), (Double, scalesH), (Double, scalesW), (Out, out)) {
    write(out, at::_upsample_nearest_exact2d(upcast(self), outputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact3d, ANY, (In, self), (PositiveSizes<3>, outputSize), (Double, scalesD), (Double, scalesH),
           (Double, scalesW), (Out, out)) {
    write(out, at::_upsample_nearest_exact3d(upcast(self), outputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}

ATEN_ENTRY(aclnnUpsampleLinear1d, ANY, (In, self), (PositiveSizes<1>, outputSize), (Bool, alignCorners), (Double, scales), (Out, out)) {
    write(out, at::upsample_linear1d(upcast(self), outputSize, alignCorners, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleLinear1dBackward, ANY, (In, gradOutput), (PositiveSizes<1>, outputSize), (Sizes<3>, inputSize),
           (Bool, alignCorners), (Double, scales), (Out, gradInput)) {
    write(gradInput, at::upsample_linear1d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleBilinear2d, FLOATING | DOUBLE, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Double, scalesH),
           (Double, scalesW), (Out, out)) {
    write(out, at::upsample_bilinear2d(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBilinear2dBackwardV2, ANY, (In, gradOutput), (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize),
           (Bool, alignCorners), (Double, scalesH), (Double, scalesW), (Out, out)) {
    write(out, at::upsample_bilinear2d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleTrilinear3d, ANY, (In, self), (PositiveSizes<3>, outputSize), (Bool, alignCorners), (Double, scalesD),
           (Double, scalesH), (Double, scalesW), (Out, out)) {
    write(out, at::upsample_trilinear3d(upcast(self), outputSize, alignCorners, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleTrilinear3dBackward, ANY, (In, gradOutput), (PositiveSizes<3>, outputSize), (Sizes<5>, inputSize),
           (Bool, alignCorners), (Double, scalesD), (Double, scalesH), (Double, scalesW), (Out, gradInput)) {
    write(gradInput, at::upsample_trilinear3d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scalesD),
                                                       scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2d, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Double, scalesH),
           (Double, scalesW), (Out, out)) {
    write(out, at::upsample_bicubic2d(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2dBackward, ANY, (In, gradOutput), (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize),
           (Bool, alignCorners), (Double, scalesH), (Double, scalesW), (Out, gradInput)) {
    write(gradInput,
          at::upsample_bicubic2d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2dAA, ANY, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Double, scalesH),
           (Double, scalesW), (Out, out)) {
    write(out, at::_upsample_bicubic2d_aa(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBilinear2dAA, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Double, scalesH),
           (Double, scalesW), (Out, out)) {
    write(out, at::_upsample_bilinear2d_aa(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}

ATEN_ENTRY(aclnnGridSampler2D, FLOATING | DOUBLE, (In, input), (In, grid), (Interpolation2D, interpolationMode), (PaddingMode, paddingMode),
           (Bool, alignCorners), (Out, out)) {
    write(out, at::grid_sampler_2d(upcast(input), upcast(grid), interpolationMode, paddingMode, alignCorners));
}
ATEN_ENTRY(aclnnGridSampler3D, ANY, (In, input), (In, grid), (Interpolation3D, interpolationMode), (PaddingMode, paddingMode),
           (Bool, alignCorners), (Out, out)) {
    write(out, at::grid_sampler_3d(upcast(input), upcast(grid), interpolationMode, paddingMode, alignCorners));
}
ATEN_ENTRY(aclnnGridSampler2DBackward, FLOATING | DOUBLE, (In, gradOutput), (In, input), (In, grid), (Interpolation2D, interpolationMode),
           (PaddingMode, paddingMode), (Bool, alignCorners), (MaskOf<2>, outputMask), (OptOut, inputGrad), (OptOut, gridGrad)) {
    // The gradient of the grid is always computed.
    const auto [of_input, of_grid] = at::grid_sampler_2d_backward(upcast(gradOutput), upcast(input), upcast(grid), interpolationMode,
                                                                  paddingMode, alignCorners, wanted(outputMask, inputGrad, gridGrad));
    write(inputGrad, of_input);
    if (wanted(outputMask, inputGrad, gridGrad)[1]) write(gridGrad, of_grid);
}
ATEN_ENTRY(aclnnGridSampler3DBackward, ANY, (In, gradOutput), (In, input), (In, grid), (Interpolation3D, interpolationMode),
           (PaddingMode, paddingMode), (Bool, alignCorners), (MaskOf<2>, outputMask), (OptOut, inputGrad), (OptOut, gridGrad)) {
    const auto [of_input, of_grid] = at::grid_sampler_3d_backward(upcast(gradOutput), upcast(input), upcast(grid), interpolationMode,
                                                                  paddingMode, alignCorners, wanted(outputMask, inputGrad, gridGrad));
    write(inputGrad, of_input);
    if (wanted(outputMask, inputGrad, gridGrad)[1]) write(gridGrad, of_grid);
}

ATEN_ENTRY(aclnnAffineGrid, ANY, (In, theta), (GridSize, size), (Bool, alignCorners), (Out, out)) {
    write(out, at::affine_grid_generator(upcast(theta), size, alignCorners));
}
