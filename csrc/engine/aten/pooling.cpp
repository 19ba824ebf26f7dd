// Pooling and unpooling. The gradients of average pooling and of unpooling are in libopapi.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/max_pool_mask.h"

#define ATEN_FAMILY "pooling"
using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

std::optional<int64_t> divisor(int64_t override) {
    return override == 0 ? std::nullopt : std::optional(override);
}

// A window lies within the padded input, and at least half of it within the input itself.
void require_half(at::IntArrayRef padding, at::IntArrayRef kernel, at::IntArrayRef dilation) {
    const auto at = [](at::IntArrayRef values, size_t d) { return values[values.size() == 1 ? 0 : d]; };
    for (size_t d = 0; d < std::max(padding.size(), kernel.size()); d++) {
        const int64_t largest = ((at(kernel, d) - 1) * at(dilation, d) + 1) / 2;
        if (at(padding, d) > largest) refuse("padding", c10::str("at most half of the window, ", largest), c10::str(at(padding, d)));
    }
}

// Found on Ascend910B and Ascend310B, of which the document does not tell.
void require_precision(const at::Tensor& self, int8_t cube_math_type) {
    const Product product = config().product;
    if ((product == Product::a2 || product == Product::edge) && self.scalar_type() == at::kFloat && cube_math_type == 1)
        refuse("cubeMathType", "0 for FLOAT on " + config().soc_name, "1");
}

// The documents list INT64; Ascend910B takes INT32 as well.
void require_unpooling_indices(const at::Tensor& indices) {
    const bool listed = indices.scalar_type() == at::kLong;
    if (listed || (indices.scalar_type() == at::kInt && !config().strict)) return;
    refuse("indices", config().strict ? "INT64, as TORCH_ACLNN_HOST_STRICT asks" : "INT64 or INT32", c10::str(indices.scalar_type()));
}

// Of aclnnMaxPool, whose lists are of a number for each end of each direction, for each direction, or for all.
void require_ends(const char* name, at::IntArrayRef values) {
    if (values.size() == 3 || values.size() > 4) refuse(name, "0, 1, 2 or 4 values", std::to_string(values.size()));
    // Which of four is of which end is not documented.
    if (values.size() == 4 && std::any_of(values.begin(), values.end(), [&](int64_t value) { return value != values[0]; }))
        refuse(name, "four values that are the same", c10::str(values));
}
at::IntArrayRef directions(const at::IntArrayRef& values) {
    static constexpr int64_t kNone = 0;
    return values.empty() ? at::IntArrayRef(kNone) : values.slice(0, std::min<size_t>(values.size(), 2));
}
void require_max_pool(at::IntArrayRef kernel, at::IntArrayRef pads, at::IntArrayRef dilations) {
    require_ends("pads", pads);
    require_values("pads", pads, 0);
    require_half(directions(pads), kernel, 1);
    require_ends("dilations", dilations);
    for (const int64_t dilation : dilations)
        if (dilation != 1) refuse("dilations", "1, as no other is supported", c10::str(dilations));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using AutoPad = Between<int64_t, 0, 0>;  // as the pads say
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnAvgPool2d, FLOATING, (require_half(padding, kernelSize, 1), require_precision(self, cubeMathType)), (In, self),
                   (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Bool, ceilMode), (Bool, countIncludePad),
                   (Int, divisorOverride), (CubeMathType, cubeMathType), (Out, out)) {
    write(out, at::avg_pool2d(upcast(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}
ATEN_CHECKED_ENTRY(aclnnAvgPool3d, ANY, require_half(padding, kernelSize, 1), (In, self), (Steps<3>, kernelSize), (OptSteps<3>, stride),
                   (Pads<3>, padding), (Bool, ceilMode), (Bool, countIncludePad), (Int, divisorOverride), (Out, out)) {
    write(out, at::avg_pool3d(upcast(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}

ATEN_ENTRY(aclnnAdaptiveAvgPool2d, FLOATING, (In, self), (Sizes<2>, outputSize), (Out, out)) {
    write(out, at::_adaptive_avg_pool2d(upcast(self), outputSize));
}
ATEN_ENTRY(aclnnAdaptiveAvgPool3d, FLOATING, (In, self), (Sizes<3>, outputSize), (Out, out)) {
    write(out, at::_adaptive_avg_pool3d(upcast(self), outputSize));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool2d, ANY, (In, self), (Sizes<2>, outputSize), (Out, outputOut), (Out, indicesOut)) {
    const auto [maxima, indices] = at::adaptive_max_pool2d(upcast(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool2dBackward, ANY, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
    write(gradInput, at::adaptive_max_pool2d_backward(upcast(gradOutput), upcast(self), indices.to(at::kLong)));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool3d, FLOATING | DOUBLE, (In, self), (Sizes<3>, outputSize), (Out, outputOut), (Out, indicesOut)) {
    const auto [maxima, indices] = at::adaptive_max_pool3d(upcast(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool3dBackward, FLOATING | DOUBLE, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
    write(gradInput, at::adaptive_max_pool3d_backward(upcast(gradOutput), upcast(self), indices.to(at::kLong)));
}

// The form that torch_npu uses on the A2: it calls the mask "indices", and only the backward reads it.
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMask, FLOATING,
                   (require_half(padding, kernelSize, dilation), require_mask(indices, out.sizes(), kernelSize)), (In, self),
                   (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode), (Out, out),
                   (Out, indices)) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    MaxPoolMask(self, positions.sizes(), kernelSize, stride, padding, dilation).store(positions, indices);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMaskBackward, FLOATING,
                   (require_half(padding, kernelSize, dilation), require_mask(indices, gradOutput.sizes(), kernelSize)), (In, gradOutput),
                   (In, self), (In, indices), (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation),
                   (Bool, ceilMode), (Out, gradInput)) {
    const at::Tensor positions = MaxPoolMask(self, gradOutput.sizes(), kernelSize, stride, padding, dilation).load(indices);
    write(gradInput, at::max_pool2d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          positions));
}

// Here the indices are ATen's: flat positions in the plane.
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithIndices, FLOATING, require_half(padding, kernelSize, dilation), (In, self), (Steps<2>, kernelSize),
                   (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode), (Out, out), (Out, indices)) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithIndicesBackward, FLOATING, require_half(padding, kernelSize, dilation), (In, gradOutput), (In, self),
                   (In, indices), (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode),
                   (Out, gradInput)) {
    write(gradInput, at::max_pool2d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          indices.to(at::kLong)));
}

ATEN_CHECKED_ENTRY(aclnnMaxPool, FLOAT | FLOAT16, require_max_pool(kernelShape, pads, dilations), (In, self), (Steps<2>, kernelShape),
                   (OptSteps<2>, strides), (AutoPad, autoPad), (Ints, pads), (Ints, dilations), (Int, ceilMode), (Out, out)) {
    write(out, at::max_pool2d(self, kernelShape, strides, directions(pads), 1, ceilMode != 0));
}

// Flat positions in the volume.
ATEN_CHECKED_ENTRY(aclnnMaxPool3dWithArgmax, FLOATING, require_half(padding, kernelSize, dilation), (In, self), (Steps<3>, kernelSize),
                   (OptSteps<3>, stride), (Pads<3>, padding), (Steps<3>, dilation), (Bool, ceilMode), (Out, out), (Out, indices)) {
    const auto [maxima, positions] = at::max_pool3d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool3dWithArgmaxBackward, FLOATING, require_half(padding, kernelSize, dilation), (In, gradOutput), (In, self),
                   (In, indices), (Steps<3>, kernelSize), (OptSteps<3>, stride), (Pads<3>, padding), (Steps<3>, dilation), (Bool, ceilMode),
                   (Out, gradInput)) {
    write(gradInput, at::max_pool3d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          indices.to(at::kLong)));
}

ATEN_CHECKED_ENTRY(aclnnMaxUnpool2d, REAL, require_unpooling_indices(indices), (In, self), (In, indices), (Sizes<2>, outputSize),
                   (Out, out)) {
    write(out, at::max_unpool2d(upcast(self), indices.to(at::kLong), outputSize));
}
ATEN_CHECKED_ENTRY(aclnnMaxUnpool3d, REAL, require_unpooling_indices(indices), (In, self), (In, indices), (Sizes<3>, outputSize),
                   (PositiveSizes<3>, stride), (Exactly<3>, padding), (Out, out)) {
    write(out, at::max_unpool3d(upcast(self), indices.to(at::kLong), outputSize, stride, padding));
}
