// Pooling and unpooling. The gradients of average pooling and of unpooling are in libopapi.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/max_pool_mask.h"
#include "engine/runtime/config/config.h"

#define ATEN_FAMILY "pooling"
using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

std::optional<int64_t> divisor(int64_t override) {
    return override == 0 ? std::nullopt : std::optional(override);
}

// A window lies within the padded input, and at least half of it within the input itself.
void require_half(at::IntArrayRef padding, at::IntArrayRef kernel, at::IntArrayRef dilation, const char* name = "padding") {
    for (size_t d = 0; d < std::max({padding.size(), kernel.size(), dilation.size()}); d++) {
        const Int128 largest = (Int128(at_direction(kernel, d) - 1) * at_direction(dilation, d) + 1) / 2;
        if (at_direction(padding, d) > largest)
            refuse(name, c10::str("at most half of the window, ", int64_t(largest)), c10::str(at_direction(padding, d)));
    }
}

// Channels and so many directions, with a batch or without. Only the batch may be empty; `from` is the first of the other dimensions.
void require_planes(const at::Tensor& self, int64_t directions, int64_t from) {
    const at::IntArrayRef sizes = self.sizes();
    if (self.dim() != directions + 1 && self.dim() != directions + 2)
        refuse("self", c10::str(directions + 1, " or ", directions + 2, " dimensions"), shape_text(sizes));
    for (int64_t d = from; d < 0; d++)
        if (self.size(d) == 0) refuse("self", "at least one element in each dimension but the batch", shape_text(sizes));
}

// How many windows fit, where the last one may lie partly behind the padded input in ceil mode.
int64_t windows(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
    const Int128 steps = Int128(size) + 2 * Int128(padding) - Int128(dilation) * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    if (steps < 0) return 0;
    const Int128 count = steps / stride + 1;
    return static_cast<int64_t>(ceil_mode && (count - 1) * stride >= Int128(size) + padding ? count - 1 : count);
}

// The result of pooling by windows.
Expected pooled(const at::Tensor& self, size_t directions, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                at::IntArrayRef dilation, bool ceil_mode) {
    require_planes(self, static_cast<int64_t>(directions), -1 - static_cast<int64_t>(directions));
    Expected expected = like(self);
    for (size_t d = 0; d < directions; d++) {
        int64_t& size = expected.sizes[expected.sizes.size() - directions + d];
        size = windows(size, at_direction(kernel, d), at_direction(stride.empty() ? kernel : stride, d), at_direction(padding, d),
                       at_direction(dilation, d), ceil_mode);
        if (size == 0) refuse("self", "room for a window in each direction", shape_text(self.sizes()));
    }
    return expected;
}

// With the last dimensions of other sizes.
Expected with_planes(const at::Tensor& self, at::IntArrayRef sizes) {
    Expected expected = like(self);
    std::copy(sizes.begin(), sizes.end(), expected.sizes.end() - static_cast<int64_t>(sizes.size()));
    return expected;
}
// The mean of no elements is refused, but there may be no channels.
Expected adaptively_averaged(const at::Tensor& self, at::IntArrayRef sizes) {
    require_planes(self, static_cast<int64_t>(sizes.size()), -static_cast<int64_t>(sizes.size()));
    return with_planes(self, sizes);
}
Expected adaptively_maximised(const at::Tensor& self, at::IntArrayRef sizes) {
    require_planes(self, static_cast<int64_t>(sizes.size()), 1 - self.dim());
    return with_planes(self, sizes);
}
// A gradient has the sizes of the result.
Expected adaptive_gradient(const at::Tensor& self, const at::Tensor& grad, int64_t directions) {
    require_planes(self, directions, 1 - self.dim());
    if (grad.dim() != self.dim()) refuse("gradOutput", c10::str(self.dim(), " dimensions"), shape_text(grad.sizes()));
    return with_planes(self, grad.sizes().slice(grad.dim() - directions));
}

// Flat positions in planes or volumes of those sizes, on which ATen relies.
at::Tensor positions_in(at::IntArrayRef sizes, const at::Tensor& indices) {
    const at::Tensor positions = indices.to(at::kLong).contiguous();
    require_indices("indices", positions, c10::multiply_integers(sizes));
    return positions;
}
at::Tensor positions_in(const at::Tensor& self, int64_t directions, const at::Tensor& indices) {
    return positions_in(self.sizes().slice(self.dim() - directions), indices);
}

// Each element goes to its position, which works for all data types.
at::Tensor unpooled(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef sizes, const at::Tensor& out) {
    const auto directions = static_cast<int64_t>(sizes.size());
    const auto flat = [&](const at::Tensor& tensor) { return tensor.flatten(-directions, -1); };
    const at::Tensor places = flat(at::zeros(out.sizes(), self.options()));
    return places.scatter(-1, flat(positions_in(sizes, indices)), flat(self)).view(out.sizes());
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
    refuse("indices", config().strict ? "INT64, as TORCH_ACLNN_HOST_MODE=strict asks" : "INT64 or INT32", c10::str(indices.scalar_type()));
}

// Found on hardware, of which the document does not tell.
void require_dense_window_if_strict(at::IntArrayRef dilation) {
    if (config().strict && std::any_of(dilation.begin(), dilation.end(), [](int64_t step) { return step != 1; }))
        refuse("dilation", "1, as TORCH_ACLNN_HOST_MODE=strict asks", c10::str(dilation));
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
    require_half(directions(pads), kernel, 1, "pads");
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
                   (Int, divisorOverride), (CubeMathType, cubeMathType),
                   (Out, out, pooled(self, 2, kernelSize, stride, padding, 1, ceilMode))) {
    write(out, at::avg_pool2d(upcast(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}
ATEN_CHECKED_ENTRY(aclnnAvgPool3d, FLOATING, require_half(padding, kernelSize, 1), (In, self), (Steps<3>, kernelSize),
                   (OptSteps<3>, stride), (Pads<3>, padding), (Bool, ceilMode), (Bool, countIncludePad), (Int, divisorOverride),
                   (Out, out, pooled(self, 3, kernelSize, stride, padding, 1, ceilMode))) {
    write(out, at::avg_pool3d(upcast(self), kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)));
}

// Over all dimensions behind the batch and the channels.
#define GLOBAL_POOL(entry_point, dtypes, function)                                                 \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (Out, out, chosen(self, planes_of(self), true))) { \
        write(out, function(upcast(self), planes_of(self), true));                                 \
    }
static at::DimVector planes_of(const at::Tensor& self) {
    if (self.dim() < 4) refuse("self", "4 to 8 dimensions", shape_text(self.sizes()));
    at::DimVector dims;
    for (int64_t d = 2; d < self.dim(); d++) dims.push_back(d);
    return dims;
}
static at::Tensor average(const at::Tensor& self, at::IntArrayRef dims, bool keep) {
    return at::mean(self, dims, keep);
}
GLOBAL_POOL(aclnnGlobalAveragePool, FLOATING | DOUBLE, average)
GLOBAL_POOL(aclnnGlobalMaxPool, FLOAT | FLOAT16 | DOUBLE, at::amax)
ATEN_ENTRY(aclnnAdaptiveAvgPool2d, FLOATING, (In, self), (Sizes<2>, outputSize), (Out, out, adaptively_averaged(self, outputSize))) {
    write(out, at::_adaptive_avg_pool2d(upcast(self), outputSize));
}
ATEN_ENTRY(aclnnAdaptiveAvgPool3d, FLOATING, (In, self), (Sizes<3>, outputSize), (Out, out, adaptively_averaged(self, outputSize))) {
    write(out, at::_adaptive_avg_pool3d(upcast(self), outputSize));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool2d, FLOATING | DOUBLE, (In, self), (Sizes<2>, outputSize),
           (Out, outputOut, adaptively_maximised(self, outputSize)), (Out, indicesOut, shaped_like(outputOut))) {
    const auto [maxima, indices] = at::adaptive_max_pool2d(upcast(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool2dBackward, FLOATING, (In, gradOutput, adaptive_gradient(self, gradOutput, 2)), (In, self),
           (In, indices, shaped_like(gradOutput)), (Out, gradInput, like(self))) {
    write(gradInput, at::adaptive_max_pool2d_backward(upcast(gradOutput), upcast(self), positions_in(self, 2, indices)));
}

ATEN_ENTRY(aclnnAdaptiveMaxPool3d, FLOATING, (In, self), (Sizes<3>, outputSize), (Out, outputOut, adaptively_maximised(self, outputSize)),
           (Out, indicesOut, shaped_like(outputOut))) {
    const auto [maxima, indices] = at::adaptive_max_pool3d(upcast(self), outputSize);
    write(outputOut, maxima);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnAdaptiveMaxPool3dBackward, FLOATING | DOUBLE, (In, gradOutput, adaptive_gradient(self, gradOutput, 3)), (In, self),
           (In, indices, shaped_like(gradOutput)), (Out, gradInput, like(self))) {
    write(gradInput, at::adaptive_max_pool3d_backward(upcast(gradOutput), upcast(self), positions_in(self, 3, indices)));
}

// The form that torch_npu uses on the A2: it calls the mask "indices", and only the backward reads it. How large a plane of it is does not
// follow from the result alone: see require_mask.
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMask, FLOATING,
                   (require_half(padding, kernelSize, dilation), require_dense_window_if_strict(dilation),
                    require_mask(indices, out.sizes(), kernelSize)),
                   (In, self), (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode),
                   (Out, out, pooled(self, 2, kernelSize, stride, padding, dilation, ceilMode)), (Out, indices, any_shape())) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    MaxPoolMask(self, positions.sizes(), kernelSize, stride, padding, dilation).store(positions, indices);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithMaskBackward, FLOATING,
                   (require_half(padding, kernelSize, dilation), require_dense_window_if_strict(dilation),
                    require_mask(indices, gradOutput.sizes(), kernelSize)),
                   (In, gradOutput, pooled(self, 2, kernelSize, stride, padding, dilation, ceilMode)), (In, self), (In, indices),
                   (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode),
                   (Out, gradInput, like(self))) {
    const at::Tensor positions = MaxPoolMask(self, gradOutput.sizes(), kernelSize, stride, padding, dilation).load(indices);
    write(gradInput, at::max_pool2d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          positions));
}

// Here the indices are ATen's: flat positions in the plane.
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithIndices, FLOATING, require_half(padding, kernelSize, dilation), (In, self), (Steps<2>, kernelSize),
                   (OptSteps<2>, stride), (Pads<2>, padding), (Steps<2>, dilation), (Bool, ceilMode),
                   (Out, out, pooled(self, 2, kernelSize, stride, padding, dilation, ceilMode)), (Out, indices, shaped_like(out))) {
    const auto [maxima, positions] = at::max_pool2d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool2dWithIndicesBackward, FLOATING, require_half(padding, kernelSize, dilation),
                   (In, gradOutput, pooled(self, 2, kernelSize, stride, padding, dilation, ceilMode)), (In, self),
                   (In, indices, shaped_like(gradOutput)), (Steps<2>, kernelSize), (OptSteps<2>, stride), (Pads<2>, padding),
                   (Steps<2>, dilation), (Bool, ceilMode), (Out, gradInput, like(self))) {
    write(gradInput, at::max_pool2d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          positions_in(self, 2, indices)));
}

ATEN_CHECKED_ENTRY(aclnnMaxPool, FLOAT | FLOAT16, require_max_pool(kernelShape, pads, dilations), (In, self), (Steps<2>, kernelShape),
                   (OptSteps<2>, strides), (AutoPad, autoPad), (Ints, pads), (Ints, dilations), (Int, ceilMode),
                   (Out, out, pooled(self, 2, kernelShape, strides, directions(pads), 1, ceilMode != 0))) {
    write(out, at::max_pool2d(self, kernelShape, strides, directions(pads), 1, ceilMode != 0));
}

// Flat positions in the volume.
ATEN_CHECKED_ENTRY(aclnnMaxPool3dWithArgmax, FLOATING, require_half(padding, kernelSize, dilation), (In, self), (Steps<3>, kernelSize),
                   (OptSteps<3>, stride), (Pads<3>, padding), (Steps<3>, dilation), (Bool, ceilMode),
                   (Out, out, pooled(self, 3, kernelSize, stride, padding, dilation, ceilMode)), (Out, indices, shaped_like(out))) {
    const auto [maxima, positions] = at::max_pool3d_with_indices(upcast(self), kernelSize, stride, padding, dilation, ceilMode);
    write(out, maxima);
    write(indices, positions);
}
ATEN_CHECKED_ENTRY(aclnnMaxPool3dWithArgmaxBackward, FLOATING, require_half(padding, kernelSize, dilation),
                   (In, gradOutput, pooled(self, 3, kernelSize, stride, padding, dilation, ceilMode)), (In, self),
                   (In, indices, shaped_like(gradOutput)), (Steps<3>, kernelSize), (OptSteps<3>, stride), (Pads<3>, padding),
                   (Steps<3>, dilation), (Bool, ceilMode), (Out, gradInput, like(self))) {
    write(gradInput, at::max_pool3d_with_indices_backward(upcast(gradOutput), upcast(self), kernelSize, stride, padding, dilation, ceilMode,
                                                          positions_in(self, 3, indices)));
}

ATEN_CHECKED_ENTRY(aclnnMaxUnpool2d, REAL, require_unpooling_indices(indices), (In, self), (In, indices, shaped_like(self)),
                   (Sizes<2>, outputSize), (Out, out, adaptively_maximised(self, outputSize))) {
    write(out, unpooled(self, indices, outputSize, out));
}
ATEN_CHECKED_ENTRY(aclnnMaxUnpool3d, REAL, require_unpooling_indices(indices), (In, self), (In, indices, shaped_like(self)),
                   (Sizes<3>, outputSize), (PositiveSizes<3>, stride), (Exactly<3>, padding),
                   (Out, out, adaptively_maximised(self, outputSize))) {
    write(out, unpooled(self, indices, outputSize, out));
}
