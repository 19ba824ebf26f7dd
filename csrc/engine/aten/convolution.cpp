// Convolutions of one to three dimensions, transposed or not. The engine computes float32 as float32, whatever less cubeMathType permits.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "convolution"
using namespace torch_aclnn::host::aten;

namespace {

// Of two directions padding may tell each side: top, bottom, left, right.
bool pads_each_side(int64_t directions, at::IntArrayRef padding) {
    return directions == 2 && padding.size() == 4;
}

void require_steps(const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding, bool may_pad_each_side,
                   at::IntArrayRef dilation, at::IntArrayRef output_padding) {
    const int64_t directions = weight.dim() - 2;
    for (int64_t d = 2; d < weight.dim(); d++)
        if (weight.size(d) == 0)
            torch_aclnn::host::refuse("weight", c10::str("a window of at least 1 in dimension ", d), c10::str("shape ", weight.sizes()));
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
        torch_aclnn::host::refuse("groups", "a divisor of self's dimension 1", c10::str(groups, " for shape ", self.sizes()));
}

}  // namespace

ATEN_CHECKED_ENTRY(aclnnConvolution, FLOATING, require_steps(weight, stride, padding, !transposed, dilation, outputPadding), (In, input),
                   (In, weight), (OptIn, bias), (Ints, stride), (Ints, padding), (Ints, dilation), (Bool, transposed),
                   (Ints, outputPadding), (Positive, groups), (Out, out), (CubeMathType, cubeMathType)) {
    const bool each_side = pads_each_side(weight.dim() - 2, padding);
    const at::Tensor self = upcast(input);
    const at::Tensor padded = each_side ? at::constant_pad_nd(self, {padding[2], padding[3], padding[0], padding[1]}) : self;
    const std::vector<int64_t> left = each_side ? std::vector<int64_t>{0, 0} : padding.vec();
    write(out, at::convolution(padded, upcast(weight), upcast(bias), stride, left, dilation, transposed, outputPadding, groups));
}

ATEN_CHECKED_ENTRY(aclnnConvolutionBackward, FLOATING, require_steps(weight, stride, padding, false, dilation, outputPadding),
                   (In, gradOutput), (In, input), (In, weight), (OptInts, biasSizes), (Ints, stride), (Ints, padding), (Ints, dilation),
                   (Bool, transposed), (Ints, outputPadding), (Positive, groups), (MaskOf<3>, outputMask), (CubeMathType, cubeMathType),
                   (OptOut, gradInput), (OptOut, gradWeight), (OptOut, gradBias)) {
    const at::OptionalIntArrayRef bias_sizes = biasSizes ? at::OptionalIntArrayRef(*biasSizes) : at::OptionalIntArrayRef();
    const auto [of_input, of_weight, of_bias] =
        at::convolution_backward(upcast(gradOutput), upcast(input), upcast(weight), bias_sizes, stride, padding, dilation, transposed,
                                 outputPadding, groups, wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

// One filter for each channel of the output; kernelSize says again what weight's shape says.
ATEN_ENTRY(aclnnConvDepthwise2d, FLOATING, (In, self), (In, weight), (Steps<2>, kernelSize), (OptIn, bias), (Steps<2>, stride),
           (Pads<2>, padding), (Steps<2>, dilation), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::conv2d(upcast(self), upcast(weight), upcast(bias), stride, padding, dilation, self.size(-3)));
}

ATEN_ENTRY(aclnnConvTbc, FLOATING, (In, self), (In, weight), (In, bias), (NotNegative, pad), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::conv_tbc(upcast(self), upcast(weight), upcast(bias), pad));
}
ATEN_ENTRY(aclnnConvTbcBackward, FLOATING, (In, self), (In, input), (In, weight), (In, bias), (NotNegative, pad),
           (CubeMathType, cubeMathType), (Out, gradInput), (Out, gradWeight), (Out, gradBias)) {
    const auto [of_input, of_weight, of_bias] = at::conv_tbc_backward(upcast(self), upcast(input), upcast(weight), upcast(bias), pad);
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

ATEN_ENTRY(aclnnIm2col, FLOATING, (In, self), (Steps<2>, kernelSize), (Steps<2>, dilation), (Pads<2>, padding), (Steps<2>, stride),
           (Out, out)) {
    write(out, at::im2col(self, kernelSize, dilation, padding, stride));
}
ATEN_ENTRY(aclnnIm2colBackward, ANY, (In, gradOutput), (Sizes<2>, inputSize), (Steps<2>, kernelSize), (Steps<2>, dilation),
           (Pads<2>, padding), (Steps<2>, stride), (Out, out)) {
    write(out, at::col2im(upcast(gradOutput), inputSize, kernelSize, dilation, padding, stride));
}

ATEN_CHECKED_ENTRY(aclnnChannelShuffle, NUMBERS, require_groups(groups, self), (In, self), (Positive, groups), (Out, out)) {
    write(out, at::channel_shuffle(self, groups));
}
