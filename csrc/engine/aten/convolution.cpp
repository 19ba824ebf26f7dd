// Convolutions of one to three dimensions, transposed or not. The engine computes float32 as float32, whatever less cubeMathType permits.
#include <ATen/ATen.h>

#include "engine/aten/adapter.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

ATEN_CHECKED_ENTRY(aclnnConvolution, FLOATING,
                   require_one_or(weight.dim() - 2,
                                  {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"outputPadding", outputPadding}}),
                   (In, input), (In, weight), (OptIn, bias), (Ints, stride), (Ints, padding), (Ints, dilation), (Bool, transposed),
                   (Ints, outputPadding), (Positive, groups), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::convolution(wide(input), wide(weight), wide(bias), stride, padding, dilation, transposed, outputPadding, groups));
}

ATEN_CHECKED_ENTRY(aclnnConvolutionBackward, FLOATING,
                   require_one_or(weight.dim() - 2,
                                  {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"outputPadding", outputPadding}}),
                   (In, gradOutput), (In, input), (In, weight), (OptInts, biasSizes), (Ints, stride), (Ints, padding), (Ints, dilation),
                   (Bool, transposed), (Ints, outputPadding), (Positive, groups), (MaskOf<3>, outputMask), (CubeMathType, cubeMathType),
                   (OptOut, gradInput), (OptOut, gradWeight), (OptOut, gradBias)) {
    const at::OptionalIntArrayRef bias_sizes = biasSizes ? at::OptionalIntArrayRef(*biasSizes) : at::OptionalIntArrayRef();
    const auto [of_input, of_weight, of_bias] =
        at::convolution_backward(wide(gradOutput), wide(input), wide(weight), bias_sizes, stride, padding, dilation, transposed,
                                 outputPadding, groups, wanted(outputMask, gradInput, gradWeight, gradBias));
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

// One filter for each channel of the output; kernelSize says again what weight's shape says.
ATEN_ENTRY(aclnnConvDepthwise2d, FLOATING, (In, self), (In, weight), (OneOr<2>, kernelSize), (OptIn, bias), (OneOr<2>, stride),
           (OneOr<2>, padding), (OneOr<2>, dilation), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::conv2d(wide(self), wide(weight), wide(bias), stride, padding, dilation, self.size(-3)));
}

ATEN_ENTRY(aclnnConvTbc, FLOATING, (In, self), (In, weight), (In, bias), (NotNegative, pad), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::conv_tbc(wide(self), wide(weight), wide(bias), pad));
}
ATEN_ENTRY(aclnnConvTbcBackward, FLOATING, (In, self), (In, input), (In, weight), (In, bias), (NotNegative, pad),
           (CubeMathType, cubeMathType), (Out, gradInput), (Out, gradWeight), (Out, gradBias)) {
    const auto [of_input, of_weight, of_bias] = at::conv_tbc_backward(wide(self), wide(input), wide(weight), wide(bias), pad);
    write(gradInput, of_input);
    write(gradWeight, of_weight);
    write(gradBias, of_bias);
}

ATEN_ENTRY(aclnnIm2col, FLOATING, (In, self), (OneOr<2>, kernelSize), (OneOr<2>, dilation), (OneOr<2>, padding), (OneOr<2>, stride),
           (Out, out)) {
    write(out, at::im2col(self, kernelSize, dilation, padding, stride));
}
ATEN_ENTRY(aclnnIm2colBackward, ANY, (In, gradOutput), (Exactly<2>, inputSize), (OneOr<2>, kernelSize), (OneOr<2>, dilation),
           (OneOr<2>, padding), (OneOr<2>, stride), (Out, out)) {
    write(out, at::col2im(wide(gradOutput), inputSize, kernelSize, dilation, padding, stride));
}

ATEN_ENTRY(aclnnChannelShuffle, NUMBERS, (In, self), (Positive, groups), (Out, out)) {
    write(out, at::channel_shuffle(self, groups));
}
