// Pooling and unpooling. The gradients of average pooling and of unpooling are in libopapi.

#include "engine/aten/vision/max_pool_mask.h"
#include "engine/runtime/config/config.h"
#include "vocabulary/vision/pooling_calls.h"

using namespace torch_aclnn::host;

static std::optional<int64_t> divisor(int64_t override) {
    return override == 0 ? std::nullopt : std::optional(override);
}

// A window lies within the padded input, and at least half of it within the input itself.
static void require_half(at::IntArrayRef padding, at::IntArrayRef kernel, at::IntArrayRef dilation, const char* name = "padding") {
    for (size_t d = 0; d < std::max({padding.size(), kernel.size(), dilation.size()}); d++) {
        const Int128 largest = (Int128(at_direction(kernel, d) - 1) * at_direction(dilation, d) + 1) / 2;
        if (at_direction(padding, d) > largest)
            refuse(name, c10::str("at most half of the window, ", int64_t(largest)), c10::str(at_direction(padding, d)));
    }
}

// The input has channels and so many directions; there may be no batch. Only the batch may be empty; `from` is the first of the other
// dimensions.
static void require_planes(const at::Tensor& self, int64_t directions, int64_t from) {
    const at::IntArrayRef sizes = self.sizes();
    if (self.dim() != directions + 1 && self.dim() != directions + 2)
        refuse("self", c10::str(directions + 1, " or ", directions + 2, " dimensions"), shape_text(sizes));
    for (int64_t d = from; d < 0; d++)
        if (self.size(d) == 0) refuse("self", "at least one element in each dimension but the batch", shape_text(sizes));
}

// Returns how many windows fit, where the last one may lie partly behind the padded input in ceil mode.
static int64_t windows(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
    const Int128 steps = Int128(size) + 2 * Int128(padding) - Int128(dilation) * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    if (steps < 0) return 0;
    const Int128 count = steps / stride + 1;
    return static_cast<int64_t>(ceil_mode && (count - 1) * stride >= Int128(size) + padding ? count - 1 : count);
}

static Expected pooled(const at::Tensor& self, size_t directions, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
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

// ATen's loops over adjacent channels are vectors; those over planes take three times as long as these and the copy.
static at::Tensor by_channels(const at::Tensor& planes) {
    constexpr int64_t kVector = 16;
    return planes.dim() == 4 && planes.size(1) >= kVector ? planes.contiguous(at::MemoryFormat::ChannelsLast) : planes;
}

// Returns the shape of self with other sizes of the last dimensions.
static Expected with_planes(const at::Tensor& self, at::IntArrayRef sizes) {
    Expected expected = like(self);
    std::copy(sizes.begin(), sizes.end(), expected.sizes.end() - static_cast<int64_t>(sizes.size()));
    return expected;
}
// The mean of no elements is refused, but there may be no channels.
static Expected adaptively_averaged(const at::Tensor& self, at::IntArrayRef sizes) {
    require_planes(self, static_cast<int64_t>(sizes.size()), -static_cast<int64_t>(sizes.size()));
    return with_planes(self, sizes);
}
static Expected adaptively_maximised(const at::Tensor& self, at::IntArrayRef sizes) {
    require_planes(self, static_cast<int64_t>(sizes.size()), 1 - self.dim());
    return with_planes(self, sizes);
}
// A gradient has the sizes of the result.
static Expected adaptive_gradient(const at::Tensor& self, const at::Tensor& grad, int64_t directions) {
    require_planes(self, directions, 1 - self.dim());
    if (grad.dim() != self.dim()) refuse("gradOutput", c10::str(self.dim(), " dimensions"), shape_text(grad.sizes()));
    return with_planes(self, grad.sizes().slice(grad.dim() - directions));
}

// Returns flat positions in planes or volumes of those sizes, on which ATen relies.
static at::Tensor positions_in(at::IntArrayRef sizes, const at::Tensor& indices) {
    const at::Tensor positions = indices.to(at::kLong).contiguous();
    require_indices("indices", positions, c10::multiply_integers(sizes));
    return positions;
}
static at::Tensor positions_in(const at::Tensor& self, int64_t directions, const at::Tensor& indices) {
    return positions_in(self.sizes().slice(self.dim() - directions), indices);
}

// Copies each element to its position, with elements of any data type.
static at::Tensor unpooled(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef sizes, const at::Tensor& out) {
    const auto directions = static_cast<int64_t>(sizes.size());
    const auto flat = [&](const at::Tensor& tensor) { return tensor.flatten(-directions, -1); };
    const at::Tensor places = flat(at::zeros(out.sizes(), self.options()));
    return places.scatter(-1, flat(positions_in(sizes, indices)), flat(self)).view(out.sizes());
}

// The documents list INT64; Ascend910B takes INT32 as well.
static void require_unpooling_indices(const at::Tensor& indices) {
    if (config().strict && indices.scalar_type() == at::kInt) refuse("indices", "INT64, as TORCH_ACLNN_HOST_MODE=strict asks", "INT32");
}

// The limit was found on hardware and is not in the document.
static void require_dense_window_if_strict(at::IntArrayRef dilation) {
    if (config().strict && std::any_of(dilation.begin(), dilation.end(), [](int64_t step) { return step != 1; }))
        refuse("dilation", "1, as TORCH_ACLNN_HOST_MODE=strict asks", c10::str(dilation));
}

// Checks a list of aclnnMaxPool, which has a number for each end of each direction, for each direction, or for all.
static void require_ends(const char* name, at::IntArrayRef values) {
    if (values.size() == 3 || values.size() > 4) refuse(name, "0, 1, 2 or 4 values", std::to_string(values.size()));
    // Which of four is of which end is not documented.
    if (values.size() == 4 && std::any_of(values.begin(), values.end(), [&](int64_t value) { return value != values[0]; }))
        refuse(name, "four values that are the same", c10::str(values));
}
static at::IntArrayRef directions(const at::IntArrayRef& values) {
    static constexpr int64_t kNone = 0;
    return values.empty() ? at::IntArrayRef(kNone) : values.slice(0, std::min<size_t>(values.size(), 2));
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

// The limits were found on Ascend910B and Ascend310B and are not in the document.
static void check(const call::AvgPool2d& a) {
    const Product product = config().product;
    if ((product == Product::a2 || product == Product::edge) && a.self.scalar_type() == at::kFloat && a.cubeMathType == 1)
        refuse("cubeMathType", "0 for FLOAT on " + config().soc_name, "1");
}
static void check(const call::MaxPool& a) {
    require_ends("pads", a.pads);
    require_values("pads", a.pads, 0);
    require_half(directions(a.pads), a.kernelShape, 1, "pads");
    require_ends("dilations", a.dilations);
    for (const int64_t dilation : a.dilations)
        if (dilation != 1) refuse("dilations", "1, as no other is supported", c10::str(a.dilations));
}

// torch_npu uses this form on the A2. It calls the mask "indices", and only the backward reads it. The size of the mask does not follow
// from the result alone: see require_mask.
static void compute(const call::MaxPool2dWithMask& a) {
    const auto [maxima, positions] =
        at::max_pool2d_with_indices(by_channels(upcast(a.self)), a.kernelSize, a.stride, a.padding, a.dilation, a.ceilMode);
    write(a.out, maxima);
    MaxPoolMask(a.self, positions.sizes(), a.kernelSize, a.stride, a.padding, a.dilation).store(positions, a.indices);
}
static void compute(const call::MaxPool2dWithMaskBackward& a) {
    const at::Tensor positions = MaxPoolMask(a.self, a.gradOutput.sizes(), a.kernelSize, a.stride, a.padding, a.dilation).load(a.indices);
    write(a.gradInput, at::max_pool2d_with_indices_backward(upcast(a.gradOutput), upcast(a.self), a.kernelSize, a.stride, a.padding,
                                                            a.dilation, a.ceilMode, positions));
}
