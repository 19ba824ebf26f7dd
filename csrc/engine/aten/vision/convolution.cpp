// Convolutions of one to three dimensions, transposed or not.

#include "engine/aten/numerics/matmul_precision.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/vision/convolution_calls.h"

namespace {

int64_t counted(const char* name, Int128 size) {
    if (size < 0 || size > std::numeric_limits<int64_t>::max())
        refuse(name, "a number that gives the result a size", c10::str(static_cast<double>(size)));
    return static_cast<int64_t>(size);
}

int64_t windows(int64_t size, Int128 padding, int64_t kernel, int64_t stride, int64_t dilation, const char* name = "padding") {
    const Int128 steps = size + padding - Int128(dilation) * (kernel - 1) - 1;
    if (steps < 0) refuse(name, c10::str("room for a window in a direction of ", size, " elements"), "none");
    return counted(name, steps / stride + 1);
}

// In two dimensions padding may have a number for each side: top, bottom, left, right.
bool pads_each_side(int64_t directions, at::IntArrayRef padding) {
    return directions == 2 && padding.size() == 4;
}

void require_steps(const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding, bool may_pad_each_side,
                   at::IntArrayRef dilation, at::IntArrayRef output_padding) {
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

int64_t output_channels(const at::Tensor& weight, bool transposed, int64_t groups) {
    if (weight.size(0) % groups != 0)
        refuse("groups", "a divisor of weight's dimension 0", c10::str(groups, " for ", shape_text(weight.sizes())));
    return transposed ? counted("groups", Int128(weight.size(1)) * groups) : weight.size(0);
}

void require_no_padding(at::IntArrayRef output_padding, bool transposed) {
    if (!transposed && std::any_of(output_padding.begin(), output_padding.end(), [](int64_t pad) { return pad != 0; }))
        refuse("outputPadding", "0 in all directions, as transposed is false", c10::str(output_padding));
}

// Returns the shape of a convolution's result, whose weight and steps have been checked.
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

// Each channel has one filter or more; there may be no batch.
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

// The result has the shape {time, batch, channels}.
Expected convolved_in_time(const char* name, const at::Tensor& input, const at::Tensor& weight, int64_t pad) {
    if (weight.dim() != 3 || weight.size(0) == 0) refuse("weight", "3 dimensions, with a window of at least 1", shape_text(weight.sizes()));
    if (input.dim() != 3 || input.size(2) != weight.size(1))
        refuse(name, c10::str("3 dimensions, the last one of ", weight.size(1), " channels"), shape_text(input.sizes()));
    return shape({windows(input.size(0), 2 * Int128(pad), weight.size(0), 1, 1, "pad"), input.size(1), weight.size(2)});
}

struct Windows {
    at::IntArrayRef kernel, dilation, padding, stride;
};
// Returns the number of elements of a window of such planes, and how many windows there are.
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
// Returns the channels of columns or of their gradient.
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

}  // namespace

static void compute(const call::Convolution& a) {
    const bool each_side = pads_each_side(a.weight.dim() - 2, a.padding);
    const at::Tensor self = operand(a.input, a.cubeMathType);
    const at::Tensor padded = each_side ? at::constant_pad_nd(self, {a.padding[2], a.padding[3], a.padding[0], a.padding[1]}) : self;
    constexpr std::array<int64_t, 2> kNone{0, 0};
    const at::IntArrayRef left = each_side ? at::IntArrayRef(kNone) : a.padding;
    write(a.out, at::convolution(padded, operand(a.weight, a.cubeMathType), upcast(a.bias), a.stride, left, a.dilation, a.transposed,
                                 a.outputPadding, a.groups));
}

static void check(const call::QuantConvolution& a) {
    require_steps(a.weight, a.stride, a.padding, false, a.dilation, at::IntArrayRef{0});
    require_not_given("offset", a.offset);
    require_between("transposed", a.transposed, 0, 0);
    require_no_padding(a.outputPadding ? at::IntArrayRef(*a.outputPadding) : at::IntArrayRef(), a.transposed);
}
// Sums of integers are multiplied by a scale for each filter.
static void compute(const call::QuantConvolution& a) {
    const at::Tensor sums =
        at::convolution(to_double(a.input), to_double(a.weight), {}, a.stride, a.padding, a.dilation, false, {0}, a.groups);
    const auto of_filters = [&](const at::Tensor& numbers) {
        std::vector<int64_t> sizes(static_cast<size_t>(sums.dim()), 1);
        sizes[1] = numbers.numel();
        return to_double(numbers).view(sizes);
    };
    const at::Tensor by = of_filters(scale_values(a.scale));
    if (!given(a.bias)) return write(a.output, sums * by);
    const bool early = at::isIntegralType(a.bias->scalar_type(), false);
    write(a.output, early ? (sums + of_filters(*a.bias)) * by : sums * by + of_filters(*a.bias));
}

static void compute(const call::ConvolutionBackward& a) {
    const at::OptionalIntArrayRef bias_sizes = a.biasSizes ? at::OptionalIntArrayRef(*a.biasSizes) : at::OptionalIntArrayRef();
    write_each(at::convolution_backward(operand(a.gradOutput, a.cubeMathType), operand(a.input, a.cubeMathType),
                                        operand(a.weight, a.cubeMathType), bias_sizes, a.stride, a.padding, a.dilation, a.transposed,
                                        a.outputPadding, a.groups, wanted(a.outputMask, a.gradInput, a.gradWeight, a.gradBias)),
               a.gradInput, a.gradWeight, a.gradBias);
}

static void compute(const call::ConvTbcBackward& a) {
    write_each(at::conv_tbc_backward(operand(a.self, a.cubeMathType).contiguous(), operand(a.input, a.cubeMathType).contiguous(),
                                     operand(a.weight, a.cubeMathType).contiguous(), upcast(a.bias), a.pad),
               a.gradInput, a.gradWeight, a.gradBias);
}
