// Resampling: upsampling and grid sampling.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "upsample"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// An absent scale comes as 0, as -1 or as 1, depending on the operator; then the ratio of the sizes counts, which is also what 1 gives.
std::optional<double> scale(double value) {
    return value <= 0 || value == 1 ? std::nullopt : std::optional(value);
}

// ATen divides an element's place by it, and takes the quotient for the place of an element without a look at its size.
double divisor(const char* name, double value) {
    constexpr double kLeast = 0x1p-31;
    if (value > 0 && value < kLeast) refuse(name, c10::str("a factor of at least ", kLeast, ", or none"), std::to_string(value));
    return value;
}

// Of self, or of its gradient: a batch, channels and so many directions. Only the batch may be empty.
Expected upsampled(const char* name, at::IntArrayRef sizes, at::IntArrayRef output_size) {
    const size_t rank = output_size.size() + 2;
    if (sizes.size() != rank) refuse(name, c10::str(rank, " dimensions"), shape_text(sizes));
    if (std::find(sizes.begin() + 1, sizes.end(), 0) != sizes.end())
        refuse(name, "at least one element in each dimension but the batch", shape_text(sizes));
    Expected expected(sizes);
    std::copy(output_size.begin(), output_size.end(), expected.sizes.begin() + 2);
    return expected;
}
Expected upsampled(const at::Tensor& self, at::IntArrayRef output_size) {
    return {upsampled("self", self.sizes(), output_size).sizes, self.scalar_type()};
}
// With antialiasing ATen reads memory outside of self if the middle of a result is there, which other scales than the sizes' ratio can do.
Expected smoothly_upsampled(Expected expected, at::IntArrayRef sizes, at::IntArrayRef output_size, bool align_corners, double scales_h,
                            double scales_w) {
    const std::pair<const char*, double> directions[] = {{"scalesH", scales_h}, {"scalesW", scales_w}};
    for (int64_t d = 0; d < 2 && !align_corners; d++) {
        const auto [name, given] = directions[d];
        const double last = (static_cast<double>(output_size[d]) - 0.5) / scale(given).value_or(std::numeric_limits<double>::infinity());
        if (!(last < static_cast<double>(sizes[d + 2])))
            refuse(name, c10::str("a factor by which ", sizes[d + 2], " elements become ", output_size[d]), c10::str(given));
    }
    return expected;
}
Expected smoothly_upsampled(const at::Tensor& self, at::IntArrayRef output_size, bool align_corners, double scales_h, double scales_w) {
    return smoothly_upsampled(upsampled(self, output_size), self.sizes(), output_size, align_corners, scales_h, scales_w);
}
Expected upsampled(at::IntArrayRef input_size, at::IntArrayRef output_size) {
    return upsampled("inputSize", input_size, output_size);
}

// The input's channels at each place of the grid.
Expected sampled(const at::Tensor& input, const at::Tensor& grid, int64_t directions) {
    const at::IntArrayRef sizes = input.sizes(), places = grid.sizes();
    if (input.dim() != directions + 2 || std::find(sizes.begin() + 2, sizes.end(), 0) != sizes.end())
        refuse("input", c10::str(directions + 2, " dimensions, with elements in each direction"), shape_text(sizes));
    if (grid.dim() != directions + 2 || places.front() != sizes.front() || places.back() != directions)
        refuse("grid", c10::str(directions + 2, " dimensions, of which the first is ", sizes.front(), " and the last ", directions),
               shape_text(places));
    Expected expected = like(input);
    std::copy(places.begin() + 1, places.end() - 1, expected.sizes.begin() + 2);
    return expected;
}

// Places that are no numbers, or whose products are none, are those that the forward takes for them. ATen's backward reads memory
// outside of the input there, unless it pads with zeros.
at::Tensor in_reach(const at::Tensor& grid, int64_t padding_mode) {
    if (padding_mode == 0) return grid;
    const at::Tensor border = at::sign(at::nan_to_num(grid, -1)) * 2;
    return at::where(grid.abs() < 1e30, grid, padding_mode == 1 ? border : at::full_like(grid, -1));
}

// A place in each direction.
Expected affine(at::IntArrayRef size) {
    if (std::any_of(size.begin(), size.end(), [](int64_t one) { return one < 1; })) refuse("size", "sizes of at least 1", c10::str(size));
    Expected expected(size);
    expected.sizes.erase(expected.sizes.begin() + 1);
    expected.sizes.push_back(static_cast<int64_t>(size.size()) - 2);
    return expected;
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
struct Scale : Double {
    static constexpr const char* plain = "Double";
    static double read(const char* name, double number) { return divisor(name, number); }
};
struct FloatScale : Float {
    static constexpr const char* plain = "Float";
    static float read(const char* name, float number) { return static_cast<float>(divisor(name, number)); }
};
using GridSize = CountedInts<4, 5, 5>;
using Interpolation2D = Between<int64_t, 0, 2>;  // bilinear, nearest, bicubic
using Interpolation3D = Between<int64_t, 0, 1>;
using PaddingMode = Between<int64_t, 0, 2>;  // zeros, border, reflection
}  // namespace torch_aclnn::host::aten::kind

ATEN_ENTRY(aclnnUpsampleNearest1d, FLOATING | DOUBLE | UINT8, (In, self), (PositiveSizes<1>, outputSize),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_nearest1d(upcast(self), outputSize));
}
ATEN_ENTRY(aclnnUpsampleNearest1dV2, FLOATING | DOUBLE | UINT8, (In, self), (PositiveSizes<1>, outputSize), (FloatScale, scaleL),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_nearest1d(upcast(self), outputSize, scale(scaleL)));
}
ATEN_ENTRY(aclnnUpsampleNearest1dBackward, FLOATING | DOUBLE, (In, gradOutput, upsampled(inputSize, outputSize)),
           (PositiveSizes<1>, outputSize), (Sizes<3>, inputSize), (Scale, scales),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput, at::upsample_nearest1d_backward(upcast(gradOutput), outputSize, inputSize, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleNearest2d, FLOATING | DOUBLE | UINT8, (In, self), (PositiveSizes<2>, outputSize),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_nearest2d(upcast(self), outputSize));
}
ATEN_ENTRY(aclnnUpsampleNearest2dV2, FLOATING | DOUBLE | UINT8, (In, self), (PositiveSizes<2>, outputSize), (FloatScale, scalesH),
           (FloatScale, scalesW), (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_nearest2d(upcast(self), outputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest2dBackward, FLOATING, (In, gradOut, upsampled(inputSize, outputSize)), (PositiveSizes<2>, outputSize),
           (Sizes<4>, inputSize), (Scale, scalesH), (Scale, scalesW), (Out, gradInput, Expected(inputSize, gradOut.scalar_type()))) {
    write(gradInput, at::upsample_nearest2d_backward(upcast(gradOut), outputSize, inputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest3d, FLOATING | DOUBLE, (In, self), (PositiveSizes<3>, outputSize), (Scale, scalesD), (Scale, scalesH),
           (Scale, scalesW), (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_nearest3d(upcast(self), outputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearest3dBackward, FLOATING | DOUBLE, (In, gradOutput, upsampled(inputSize, outputSize)),
           (PositiveSizes<3>, outputSize), (Sizes<5>, inputSize), (Scale, scalesD), (Scale, scalesH), (Scale, scalesW),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput,
          at::upsample_nearest3d_backward(upcast(gradOutput), outputSize, inputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact1d, FLOATING, (In, self), (PositiveSizes<1>, outputSize), (Scale, scales),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::_upsample_nearest_exact1d(upcast(self), outputSize, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact1dBackward, FLOATING, (In, gradOutput, upsampled(inputSize, outputSize)),
           (PositiveSizes<1>, outputSize), (Sizes<3>, inputSize), (Scale, scales),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput, at::_upsample_nearest_exact1d_backward(upcast(gradOutput), outputSize, inputSize, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact2dBackward, FLOATING, (In, gradOutput, upsampled(inputSize, outputSize)),
           (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize), (Scale, scalesH), (Scale, scalesW),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput, at::_upsample_nearest_exact2d_backward(upcast(gradOutput), outputSize, inputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact3dBackward, FLOATING, (In, gradOutput, upsampled(inputSize, outputSize)),
           (PositiveSizes<3>, outputSize), (Sizes<5>, inputSize), (Scale, scalesD), (Scale, scalesH), (Scale, scalesW),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput, at::_upsample_nearest_exact3d_backward(upcast(gradOutput), outputSize, inputSize, scale(scalesD), scale(scalesH),
                                                            scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact2d, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Scale, scalesH), (Scale, scalesW),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::_upsample_nearest_exact2d(upcast(self), outputSize, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleNearestExact3d, ANY, (In, self), (PositiveSizes<3>, outputSize), (Scale, scalesD), (Scale, scalesH),
           (Scale, scalesW), (Out, out, upsampled(self, outputSize))) {
    write(out, at::_upsample_nearest_exact3d(upcast(self), outputSize, scale(scalesD), scale(scalesH), scale(scalesW)));
}

ATEN_ENTRY(aclnnUpsampleLinear1d, FLOATING, (In, self), (PositiveSizes<1>, outputSize), (Bool, alignCorners), (Scale, scales),
           (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_linear1d(upcast(self), outputSize, alignCorners, scale(scales)));
}
ATEN_ENTRY(aclnnUpsampleLinear1dBackward, FLOATING, (In, gradOutput, upsampled(inputSize, outputSize)), (PositiveSizes<1>, outputSize),
           (Sizes<3>, inputSize), (Bool, alignCorners), (Scale, scales), (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput, at::upsample_linear1d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scales)));
}
#define BILINEAR(entry_point, dtypes)                                                                                                     \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Scale, scalesH), (Scale, scalesW), \
               (Out, out, upsampled(self, outputSize))) {                                                                                 \
        write(out, at::upsample_bilinear2d(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));                      \
    }
BILINEAR(aclnnUpsampleBilinear2d, FLOATING | DOUBLE)
BILINEAR(aclnnUpsampleBilinear2D, FLOATING)
#define BILINEAR_BACKWARD(entry_point, dtypes, grad)                                                                                     \
    ATEN_ENTRY(entry_point, dtypes, (In, grad, upsampled(inputSize, outputSize)), (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize), \
               (Bool, alignCorners), (Scale, scalesH), (Scale, scalesW), (Out, out, Expected(inputSize, grad.scalar_type()))) {          \
        write(out, at::upsample_bilinear2d_backward(upcast(grad), outputSize, inputSize, alignCorners, scale(scalesH), scale(scalesW))); \
    }
BILINEAR_BACKWARD(aclnnUpsampleBilinear2dBackward, FLOAT | FLOAT16, gradOut)
BILINEAR_BACKWARD(aclnnUpsampleBilinear2dBackwardV2, FLOATING, gradOutput)
ATEN_ENTRY(aclnnUpsampleTrilinear3d, FLOATING | DOUBLE, (In, self), (PositiveSizes<3>, outputSize), (Bool, alignCorners), (Scale, scalesD),
           (Scale, scalesH), (Scale, scalesW), (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_trilinear3d(upcast(self), outputSize, alignCorners, scale(scalesD), scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleTrilinear3dBackward, FLOATING | DOUBLE, (In, gradOut, upsampled(inputSize, outputSize)),
           (PositiveSizes<3>, outputSize), (Sizes<5>, inputSize), (Bool, alignCorners), (Scale, scalesD), (Scale, scalesH),
           (Scale, scalesW), (Out, gradInput, Expected(inputSize, gradOut.scalar_type()))) {
    write(gradInput, at::upsample_trilinear3d_backward(upcast(gradOut), outputSize, inputSize, alignCorners, scale(scalesD), scale(scalesH),
                                                       scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2d, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Scale, scalesH),
           (Scale, scalesW), (Out, out, upsampled(self, outputSize))) {
    write(out, at::upsample_bicubic2d(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2dBackward, FLOATING, (In, gradOutput, upsampled(inputSize, outputSize)), (PositiveSizes<2>, outputSize),
           (Sizes<4>, inputSize), (Bool, alignCorners), (Scale, scalesH), (Scale, scalesW),
           (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {
    write(gradInput,
          at::upsample_bicubic2d_backward(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBicubic2dAA, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Scale, scalesH),
           (Scale, scalesW), (Out, out, smoothly_upsampled(self, outputSize, alignCorners, scalesH, scalesW))) {
    write(out, at::_upsample_bicubic2d_aa(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}
ATEN_ENTRY(aclnnUpsampleBilinear2dAA, FLOATING, (In, self), (PositiveSizes<2>, outputSize), (Bool, alignCorners), (Scale, scalesH),
           (Scale, scalesW), (Out, out, smoothly_upsampled(self, outputSize, alignCorners, scalesH, scalesW))) {
    write(out, at::_upsample_bilinear2d_aa(upcast(self), outputSize, alignCorners, scale(scalesH), scale(scalesW)));
}

#define ANTIALIASED_BACKWARD(entry_point, dtypes, function)                                                                            \
    ATEN_ENTRY(                                                                                                                        \
        entry_point, dtypes,                                                                                                           \
        (In, gradOutput, smoothly_upsampled(upsampled(inputSize, outputSize), inputSize, outputSize, alignCorners, scalesH, scalesW)), \
        (PositiveSizes<2>, outputSize), (Sizes<4>, inputSize), (Bool, alignCorners), (Scale, scalesH), (Scale, scalesW),               \
        (Out, gradInput, Expected(inputSize, gradOutput.scalar_type()))) {                                                             \
        write(gradInput, function(upcast(gradOutput), outputSize, inputSize, alignCorners, scale(scalesH), scale(scalesW)));           \
    }
ANTIALIASED_BACKWARD(aclnnUpsampleBicubic2dAAGrad, FLOATING, at::_upsample_bicubic2d_aa_backward)
ANTIALIASED_BACKWARD(aclnnUpsampleBilinear2dAABackward, FLOATING, at::_upsample_bilinear2d_aa_backward)

ATEN_ENTRY(aclnnGridSampler2D, FLOATING | DOUBLE, (In, input), (In, grid), (Interpolation2D, interpolationMode), (PaddingMode, paddingMode),
           (Bool, alignCorners), (Out, out, sampled(input, grid, 2))) {
    write(out, at::grid_sampler_2d(upcast(input), upcast(grid), interpolationMode, paddingMode, alignCorners));
}
ATEN_ENTRY(aclnnGridSampler3D, FLOATING | DOUBLE, (In, input), (In, grid), (Interpolation3D, interpolationMode), (PaddingMode, paddingMode),
           (Bool, alignCorners), (Out, out, sampled(input, grid, 3))) {
    write(out, at::grid_sampler_3d(upcast(input), upcast(grid), interpolationMode, paddingMode, alignCorners));
}
ATEN_ENTRY(aclnnGridSampler2DBackward, FLOATING | DOUBLE, (In, gradOutput, sampled(input, grid, 2)), (In, input), (In, grid),
           (Interpolation2D, interpolationMode), (PaddingMode, paddingMode), (Bool, alignCorners), (MaskOf<2>, outputMask),
           (OptOut, inputGrad, like(input)), (OptOut, gridGrad, like(grid))) {
    // The gradient of the grid is always computed.
    const auto [of_input, of_grid] =
        at::grid_sampler_2d_backward(upcast(gradOutput), upcast(input), in_reach(upcast(grid), paddingMode), interpolationMode, paddingMode,
                                     alignCorners, wanted(outputMask, inputGrad, gridGrad));
    write(inputGrad, of_input);
    if (wanted(outputMask, inputGrad, gridGrad)[1]) write(gridGrad, of_grid);
}
ATEN_ENTRY(aclnnGridSampler3DBackward, FLOATING | DOUBLE, (In, gradOutput, sampled(input, grid, 3)), (In, input), (In, grid),
           (Interpolation3D, interpolationMode), (PaddingMode, paddingMode), (Bool, alignCorners), (MaskOf<2>, outputMask),
           (OptOut, inputGrad, like(input)), (OptOut, gridGrad, like(grid))) {
    const auto [of_input, of_grid] = at::grid_sampler_3d_backward(upcast(gradOutput), upcast(input), upcast(grid), interpolationMode,
                                                                  paddingMode, alignCorners, wanted(outputMask, inputGrad, gridGrad));
    write(inputGrad, of_input);
    if (wanted(outputMask, inputGrad, gridGrad)[1]) write(gridGrad, of_grid);
}

ATEN_ENTRY(aclnnAffineGrid, FLOATING,
           (In, theta, shape({size[0], static_cast<int64_t>(size.size()) - 2, static_cast<int64_t>(size.size()) - 1})), (GridSize, size),
           (Bool, alignCorners), (Out, out, affine(size))) {
    write(out, at::affine_grid_generator(upcast(theta), size, alignCorners));
}
