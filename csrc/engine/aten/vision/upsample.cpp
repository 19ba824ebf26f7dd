// Resampling: upsampling, grid sampling and interpolation between points.

#include "engine/aten/adapter/adapter.h"

using namespace torch_aclnn::host::aten;

// An absent scale comes as 0, as -1 or as 1, depending on the operator; then the ratio of the sizes counts, which is also what 1 gives.
static std::optional<double> scale(double value) {
    return value <= 0 || value == 1 ? std::nullopt : std::optional(value);
}

// ATen divides an element's place by the scale, and takes the quotient for the place of an element without a look at its size.
static double divisor(const char* name, double value) {
    constexpr double kLeast = 0x1p-31;
    if (value > 0 && value < kLeast) refuse(name, c10::str("a factor of at least ", kLeast, ", or none"), std::to_string(value));
    return value;
}

// The result or gradient has a batch, channels and as many directions as `output_size`. Only the batch may be empty.
static Expected upsampled(const char* name, at::IntArrayRef sizes, at::IntArrayRef output_size) {
    const size_t rank = output_size.size() + 2;
    if (sizes.size() != rank) refuse(name, c10::str(rank, " dimensions"), shape_text(sizes));
    if (std::find(sizes.begin() + 1, sizes.end(), 0) != sizes.end())
        refuse(name, "at least one element in each dimension but the batch", shape_text(sizes));
    Expected expected(sizes);
    std::copy(output_size.begin(), output_size.end(), expected.sizes.begin() + 2);
    return expected;
}
static Expected upsampled(const at::Tensor& self, at::IntArrayRef output_size) {
    return {upsampled("self", self.sizes(), output_size).sizes, self.scalar_type()};
}
// With antialiasing ATen reads memory outside of self if the middle of a result is there, which other scales than the sizes' ratio can do.
static Expected smoothly_upsampled(Expected expected, at::IntArrayRef sizes, at::IntArrayRef output_size, bool align_corners,
                                   double scales_h, double scales_w) {
    const std::pair<const char*, double> directions[] = {{"scalesH", scales_h}, {"scalesW", scales_w}};
    for (int64_t d = 0; d < 2 && !align_corners; d++) {
        const auto [name, given] = directions[d];
        const double last = (static_cast<double>(output_size[d]) - 0.5) / scale(given).value_or(std::numeric_limits<double>::infinity());
        if (!(last < static_cast<double>(sizes[d + 2])))
            refuse(name, c10::str("a factor by which ", sizes[d + 2], " elements become ", output_size[d]), c10::str(given));
    }
    return expected;
}
static Expected smoothly_upsampled(const at::Tensor& self, at::IntArrayRef output_size, bool align_corners, double scales_h,
                                   double scales_w) {
    return smoothly_upsampled(upsampled(self, output_size), self.sizes(), output_size, align_corners, scales_h, scales_w);
}
static Expected upsampled(at::IntArrayRef input_size, at::IntArrayRef output_size) {
    return upsampled("inputSize", input_size, output_size);
}

using Upsample2d = at::Tensor (*)(const at::Tensor&, at::IntArrayRef, std::optional<double>, std::optional<double>);

// Repeats the elements if both sizes are multiplied by powers of two, by which ATen divides places exactly. That takes half the time of
// ATen, which works on adjacent channels and copies the result.
template <Upsample2d upsample>
static at::Tensor repeated_or(const at::Tensor& self, at::IntArrayRef output_size, std::optional<double> scale_h,
                              std::optional<double> scale_w) {
    const int64_t rows = self.size(2), columns = self.size(3), high = output_size[0] / rows, wide = output_size[1] / columns;
    const auto is_exact = [](int64_t factor, std::optional<double> given) {
        return (factor & (factor - 1)) == 0 && given.value_or(factor) == factor;
    };
    if (at::IntArrayRef{rows * high, columns * wide} != output_size || !is_exact(high, scale_h) || !is_exact(wide, scale_w))
        return upsample(self, output_size, scale_h, scale_w);
    const at::Tensor repeated = self.unsqueeze(4).unsqueeze(3).expand({-1, -1, -1, high, -1, wide});
    return repeated.flatten(4).flatten(2, 3);
}

// The result has the input's channels at each place of the grid.
static Expected sampled(const at::Tensor& input, const at::Tensor& grid, int64_t directions) {
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

// Replaces NaN and positions so large that their products overflow by those that the forward takes in their place. For them ATen's backward
// reads memory outside of the input, unless the padding is zeros.
static at::Tensor in_reach(const at::Tensor& grid, int64_t padding_mode) {
    if (padding_mode == 0) return grid;
    const at::Tensor border = at::sign(at::nan_to_num(grid, -1)) * 2;
    return at::where(grid.abs() < 1e30, grid, padding_mode == 1 ? border : at::full_like(grid, -1));
}

// The result has a place in each direction.
static Expected affine(at::IntArrayRef size) {
    if (std::any_of(size.begin(), size.end(), [](int64_t one) { return one < 1; })) refuse("size", "sizes of at least 1", c10::str(size));
    Expected expected(size);
    expected.sizes.erase(expected.sizes.begin() + 1);
    expected.sizes.push_back(static_cast<int64_t>(size.size()) - 2);
    return expected;
}

namespace torch_aclnn::host::aten::kind {
struct Scale : Double {
    static double read(const char* name, double number) { return divisor(name, number); }
};

struct FloatScale : Float {
    static float read(const char* name, float number) { return static_cast<float>(divisor(name, number)); }
};
using GridSize = CountedInts<4, 5, 5>;
}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/vision/upsample_calls.h"

static void compute(const call::GridSampler2DBackward& a) {
    // The gradient of the grid is always computed.
    const auto [of_input, of_grid] =
        at::grid_sampler_2d_backward(upcast(a.gradOutput), upcast(a.input), in_reach(upcast(a.grid), a.paddingMode), a.interpolationMode,
                                     a.paddingMode, a.alignCorners, wanted(a.outputMask, a.inputGrad, a.gridGrad));
    write(a.inputGrad, of_input);
    if (wanted(a.outputMask, a.inputGrad, a.gridGrad)[1]) write(a.gridGrad, of_grid);
}
static void compute(const call::GridSampler3DBackward& a) {
    const auto [of_input, of_grid] =
        at::grid_sampler_3d_backward(upcast(a.gradOutput), upcast(a.input), upcast(a.grid), a.interpolationMode, a.paddingMode,
                                     a.alignCorners, wanted(a.outputMask, a.inputGrad, a.gridGrad));
    write(a.inputGrad, of_input);
    if (wanted(a.outputMask, a.inputGrad, a.gridGrad)[1]) write(a.gridGrad, of_grid);
}

// Each point of the output was the sum of three of the input, with their weights.
static void compute(const call::ThreeInterpolateBackward& a) {
    require_indices("idx", a.idx, a.m);
    const at::Tensor shares = (a.grad_x.to(at::kDouble).unsqueeze(3) * a.weight.unsqueeze(1)).flatten(2);
    const at::Tensor points = a.idx.to(at::kLong).flatten(1).unsqueeze(1).expand(shares.sizes());
    write(a.grad_y, at::zeros(a.grad_y.sizes(), at::kDouble).scatter_add(2, points, shares));
}
