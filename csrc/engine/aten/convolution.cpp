// Convolutions of one to three dimensions, transposed or not.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/product_precision.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "convolution"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

int64_t counted(const char* name, Int128 size) {
    if (size < 0 || size > std::numeric_limits<int64_t>::max())
        refuse(name, "a number that gives the result a size", c10::str(static_cast<double>(size)));
    return static_cast<int64_t>(size);
}

// How many windows of the padded input there are in one direction.
int64_t windows(int64_t size, Int128 padding, int64_t kernel, int64_t stride, int64_t dilation, const char* name = "padding") {
    const Int128 steps = size + padding - Int128(dilation) * (kernel - 1) - 1;
    if (steps < 0) refuse(name, c10::str("room for a window in a direction of ", size, " elements"), "none");
    return counted(name, steps / stride + 1);
}

// Of two directions padding may tell each side: top, bottom, left, right.
bool pads_each_side(int64_t directions, at::IntArrayRef padding) {
    return directions == 2 && padding.size() == 4;
}

void require_steps(const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding, bool may_pad_each_side,
                   at::IntArrayRef dilation, at::IntArrayRef output_padding) {
    if (weight.dim() < 3 || weight.dim() > 5) refuse("weight", "3 to 5 dimensions", shape_text(weight.sizes()));
    const int64_t directions = weight.dim() - 2;
    for (int64_t d = 2; d < weight.dim(); d++)
        if (weight.size(d) == 0) refuse("weight", c10::str("a window of at least 1 in dimension ", d), shape_text(weight.sizes()));
    if (weight.size(0) == 0) refuse("weight", "at least one filter", shape_text(weight.sizes()));
    require_one_or(directions, {{"stride", stride}, {"dilation", dilation}, {"outputPadding", output_padding}});
    if (!may_pad_each_side || !pads_each_side(directions, padding)) require_one_or(directions, {{"padding", padding}});
    require_values("stride", stride, 1);
    require_values("padding", padding, 0);
    require_values("dilation", dilation, 1);
    require_values("outputPadding", output_padding, 0);
}

// Each group has as many channels.
void require_groups(int64_t groups, const at::Tensor& self) {
    if (self.dim() < 2 || self.size(1) % groups != 0)
        refuse("groups", "a divisor of self's dimension 1", c10::str(groups, " for shape ", self.sizes()));
}

int64_t output_channels(const at::Tensor& weight, bool transposed, int64_t groups) {
    if (weight.size(0) % groups != 0)
        refuse("groups", "a divisor of weight's dimension 0", c10::str(groups, " for ", shape_text(weight.sizes())));
    return transposed ? counted("groups", Int128(weight.size(1)) * groups) : weight.size(0);
}

void require_no_padding(at::IntArrayRef output_padding, bool transposed) {
    if (!transposed && std::any_of(output_padding.begin(), output_padding.end(), [](int64_t pad) { return pad != 0; }))
        refuse("outputPadding", "0 in all directions, as transposed is false", c10::str(output_padding));
}

// The result of a convolution of an input like that, whose weight and steps have been checked.
Expected convolved(Expected input, const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                   bool transposed, at::IntArrayRef output_padding, int64_t groups) {
    const at::IntArrayRef sizes = input.sizes;
    if (sizes.size() != weight.sizes().size()) refuse("input", c10::str(weight.dim(), " dimensions, as weight has"), shape_text(sizes));
    const int64_t channels = transposed ? weight.size(0) : counted("groups", Int128(weight.size(1)) * groups);
    if (sizes[1] != channels) refuse("input", c10::str(channels, " channels, for weight's shape ", weight.sizes()), shape_text(sizes));
    input.sizes[1] = output_channels(weight, transposed, groups);
    const int64_t directions = weight.dim() - 2;
    const bool each_side = !transposed && pads_each_side(directions, padding);
    for (int64_t d = 0; d < directions; d++) {
        int64_t& size = input.sizes[d + 2];
        const int64_t kernel = weight.size(d + 2), step = at_direction(stride, d), spread = at_direction(dilation, d);
        const Int128 pads = each_side ? Int128(padding[2 * d]) + padding[2 * d + 1] : 2 * Int128(at_direction(padding, d));
        size = transposed ? counted("padding",
                                    Int128(size - 1) * step - pads + Int128(spread) * (kernel - 1) + at_direction(output_padding, d) + 1)
                          : windows(size, pads, kernel, step, spread);
    }
    return input;
}

// One filter or more for each channel, with a batch or without.
Expected convolved_by_channel(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding,
                              at::IntArrayRef dilation) {
    if ((self.dim() != 3 && self.dim() != 4) || self.size(-3) == 0)
        refuse("self", "3 or 4 dimensions, with channels", shape_text(self.sizes()));
    if (weight.size(0) % self.size(-3) != 0)
        refuse("weight", c10::str("a multiple of self's ", self.size(-3), " channels in dimension 0"), shape_text(weight.sizes()));
    Expected batch = like(self);
    if (self.dim() == 3) batch.sizes.insert(batch.sizes.begin(), 1);
    Expected expected = convolved(batch, weight, stride, padding, dilation, false, {}, self.size(-3));
    if (self.dim() == 3) expected.sizes.erase(expected.sizes.begin());
    return expected;
}
Expected filters(const at::Tensor& weight, at::IntArrayRef kernel) {
    return shape({weight.dim() == 0 ? 0 : weight.size(0), 1, at_direction(kernel, 0), at_direction(kernel, 1)});
}

// Of time, batch and channels.
Expected convolved_in_time(const char* name, const at::Tensor& input, const at::Tensor& weight, int64_t pad) {
    if (weight.dim() != 3 || weight.size(0) == 0) refuse("weight", "3 dimensions, with a window of at least 1", shape_text(weight.sizes()));
    if (input.dim() != 3 || input.size(2) != weight.size(1))
        refuse(name, c10::str("3 dimensions, the last one of ", weight.size(1), " channels"), shape_text(input.sizes()));
    return shape({windows(input.size(0), 2 * Int128(pad), weight.size(0), 1, 1, "pad"), input.size(1), weight.size(2)});
}

struct Windows {
    at::IntArrayRef kernel, dilation, padding, stride;
};
// The windows of planes of those sizes as columns: their elements, and how many there are.
std::pair<int64_t, int64_t> columns(at::IntArrayRef planes, int64_t channels, const Windows& of) {
    int64_t elements = channels, count = 1;
    for (int64_t d = 0; d < 2; d++) {
        const int64_t kernel = at_direction(of.kernel, d);
        elements = counted("kernelSize", Int128(elements) * kernel);
        count = counted("padding", Int128(count) * windows(planes[d], 2 * Int128(at_direction(of.padding, d)), kernel,
                                                           at_direction(of.stride, d), at_direction(of.dilation, d)));
    }
    return {elements, count};
}
Expected to_columns(const at::Tensor& self, const Windows& of) {
    if ((self.dim() != 3 && self.dim() != 4) || self.size(-3) == 0)
        refuse("self", "3 or 4 dimensions, with channels", shape_text(self.sizes()));
    const auto [elements, count] = columns(self.sizes().slice(self.dim() - 2), self.size(-3), of);
    return self.dim() == 4 ? shape({self.size(0), elements, count}) : shape({elements, count});
}
// ATen takes no single value for both directions here.
std::array<int64_t, 2> both(at::IntArrayRef values) {
    return {at_direction(values, 0), at_direction(values, 1)};
}
// The gradient of columns, and what it becomes.
int64_t channels_of_columns(const at::Tensor& grad, at::IntArrayRef kernel) {
    if ((grad.dim() != 2 && grad.dim() != 3) || grad.size(-2) == 0)
        refuse("gradOutput", "2 or 3 dimensions, with elements of windows", shape_text(grad.sizes()));
    return static_cast<int64_t>(grad.size(-2) / (Int128(at_direction(kernel, 0)) * at_direction(kernel, 1)));
}
Expected columns_like(const at::Tensor& grad, at::IntArrayRef planes, const Windows& of) {
    const auto [elements, count] = columns(planes, channels_of_columns(grad, of.kernel), of);
    return grad.dim() == 3 ? shape({grad.size(0), elements, count}) : shape({elements, count});
}
Expected from_columns(const at::Tensor& grad, at::IntArrayRef planes, at::IntArrayRef kernel) {
    const int64_t channels = channels_of_columns(grad, kernel);
    return grad.dim() == 3 ? shape({grad.size(0), channels, planes[0], planes[1]}) : shape({channels, planes[0], planes[1]});
}

void require_integers_of(const at::Tensor& weight, const std::optional<at::Tensor>& offset) {
    if (weight.scalar_type() != at::kChar) refuse("weight", "a data type of INT8", c10::str(weight.scalar_type()));
    require_not_given("offset", offset);
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using OnlyZeroInt = Between<int32_t, 0, 0>;
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnConvolution, FLOATING, require_steps(weight, stride, padding, !transposed, dilation, outputPadding), (In, input),
                   (In, weight), (OptIn, bias, shape({output_channels(weight, transposed, groups)})), (Ints, stride), (Ints, padding),
                   (Ints, dilation), (Bool, transposed), (Ints, outputPadding), (Positive, groups),
                   (Out, out, convolved(like(input), weight, stride, padding, dilation, transposed, outputPadding, groups)),
                   (CubeMathType, cubeMathType)) {
    const bool each_side = pads_each_side(weight.dim() - 2, padding);
    const at::Tensor self = operand(input, cubeMathType);
    const at::Tensor padded = each_side ? at::constant_pad_nd(self, {padding[2], padding[3], padding[0], padding[1]}) : self;
    constexpr std::array<int64_t, 2> kNone{0, 0};
    const at::IntArrayRef left = each_side ? at::IntArrayRef(kNone) : padding;
    write(out,
          at::convolution(padded, operand(weight, cubeMathType), upcast(bias), stride, left, dilation, transposed, outputPadding, groups));
}

// Integers, whose sums are multiplied by a scale for each filter.
ATEN_CHECKED_ENTRY(aclnnQuantConvolution, INT8,
                   (require_steps(weight, stride, padding, false, dilation, at::IntArrayRef{0}), require_integers_of(weight, offset),
                    require_between("transposed", transposed, 0, 0),
                    require_no_padding(outputPadding ? at::IntArrayRef(*outputPadding) : at::IntArrayRef(), transposed)),
                   (In, input), (In, weight), (OptIn, bias, or_empty(shape({output_channels(weight, false, groups)}))),
                   (In, scale, shape({output_channels(weight, false, groups)})), (OptIn, offset), (Ints, stride), (Ints, padding),
                   (Ints, dilation), (Bool, transposed), (OptInts, outputPadding), (Positive, groups), (OnlyZeroInt, offsetx),
                   (Nearest, roundMode),
                   (Out, output, convolved(shaped_like(input), weight, stride, padding, dilation, false, {}, groups))) {
    const at::Tensor sums = at::convolution(to_double(input), to_double(weight), {}, stride, padding, dilation, false, {0}, groups);
    const auto of_filters = [&](const at::Tensor& numbers) {
        std::vector<int64_t> sizes(static_cast<size_t>(sums.dim()), 1);
        sizes[1] = numbers.numel();
        return to_double(numbers).view(sizes);
    };
    const at::Tensor by = of_filters(scale_values(scale));
    if (!given(bias)) return write(output, sums * by);
    const bool early = at::isIntegralType(bias->scalar_type(), false);
    write(output, early ? (sums + of_filters(*bias)) * by : sums * by + of_filters(*bias));
}

ATEN_CHECKED_ENTRY(aclnnConvolutionBackward, FLOATING,
                   (require_steps(weight, stride, padding, false, dilation, outputPadding), require_no_padding(outputPadding, transposed)),
                   (In, gradOutput, convolved(like(input), weight, stride, padding, dilation, transposed, outputPadding, groups)),
                   (In, input), (In, weight), (OptInts, biasSizes), (Ints, stride), (Ints, padding), (Ints, dilation), (Bool, transposed),
                   (Ints, outputPadding), (Positive, groups), (MaskOf<3>, outputMask), (CubeMathType, cubeMathType),
                   (OptOut, gradInput, if_wanted(outputMask[0], like(input))), (OptOut, gradWeight, if_wanted(outputMask[1], like(weight))),
                   (OptOut, gradBias, if_wanted(outputMask[2], shape({output_channels(weight, transposed, groups)})))) {
    const at::OptionalIntArrayRef bias_sizes = biasSizes ? at::OptionalIntArrayRef(*biasSizes) : at::OptionalIntArrayRef();
    const auto [of_input, of_weight, of_bias] = at::convolution_backward(
        operand(gradOutput, cubeMathType), operand(input, cubeMathType), operand(weight, cubeMathType), bias_sizes, stride, padding,
        dilation, transposed, outputPadding, groups, wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

// One filter for each channel of the output; kernelSize says again what weight's shape says.
ATEN_ENTRY(aclnnConvDepthwise2d, FLOATING, (In, self), (In, weight, filters(weight, kernelSize)), (Steps<2>, kernelSize),
           (OptIn, bias, shape({weight.size(0)})), (Steps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation),
           (Out, out, convolved_by_channel(self, weight, stride, padding, dilation)), (CubeMathType, cubeMathType)) {
    write(out,
          at::conv2d(operand(self, cubeMathType), operand(weight, cubeMathType), upcast(bias), stride, padding, dilation, self.size(-3)));
}

ATEN_ENTRY(aclnnConvTbc, FLOATING, (In, self), (In, weight), (In, bias, shape({convolved_in_time("self", self, weight, pad).sizes[2]})),
           (NotNegative, pad), (Out, out, convolved_in_time("self", self, weight, pad)), (CubeMathType, cubeMathType)) {
    write(out, at::conv_tbc(operand(self, cubeMathType), operand(weight, cubeMathType), upcast(bias), pad));
}
ATEN_ENTRY(aclnnConvTbcBackward, FLOATING, (In, self, convolved_in_time("input", input, weight, pad)), (In, input), (In, weight),
           (In, bias, shape({weight.size(2)})), (NotNegative, pad), (CubeMathType, cubeMathType), (Out, gradInput, like(input)),
           (Out, gradWeight, like(weight)), (Out, gradBias, like(bias))) {
    const auto [of_input, of_weight, of_bias] =
        at::conv_tbc_backward(operand(self, cubeMathType).contiguous(), operand(input, cubeMathType).contiguous(),
                              operand(weight, cubeMathType).contiguous(), upcast(bias), pad);
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

ATEN_ENTRY(aclnnIm2col, FLOATING, (In, self), (Steps<2>, kernelSize), (Steps<2>, dilation), (Pads<2>, padding), (Steps<2>, stride),
           (Out, out, to_columns(self, {kernelSize, dilation, padding, stride}))) {
    write(out, at::im2col(self, both(kernelSize), both(dilation), both(padding), both(stride)));
}
ATEN_ENTRY(aclnnIm2colBackward, FLOATING, (In, gradOutput, columns_like(gradOutput, inputSize, {kernelSize, dilation, padding, stride})),
           (Sizes<2>, inputSize), (Steps<2>, kernelSize), (Steps<2>, dilation), (Pads<2>, padding), (Steps<2>, stride),
           (Out, out, from_columns(gradOutput, inputSize, kernelSize))) {
    write(out, at::col2im(upcast(gradOutput), inputSize, both(kernelSize), both(dilation), both(padding), both(stride)));
}

ATEN_CHECKED_ENTRY(aclnnChannelShuffle, NUMBERS, require_groups(groups, self), (In, self, rank_from(3)), (Positive, groups),
                   (Out, out, like(self))) {
    write(out, at::channel_shuffle(self, groups));
}
