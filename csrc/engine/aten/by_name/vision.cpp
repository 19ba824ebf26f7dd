// Convolutions, paddings and boxes.
#include <cmath>

#include "engine/aten/by_name/call.h"

// Convolutions in two and three directions, with their gradients. Half types are summed in float32.

namespace {

// The attributes that all convolutions have, for the spatial directions only.
struct Windows {
    std::vector<int64_t> strides, dilations, before, after;
    int64_t groups;
};

// The list has one value for each dimension, of which the first two, N and C, have 1.
std::vector<int64_t> of_directions(const Call& call, const char* name, size_t directions) {
    const std::vector<int64_t>& values = call.attribute<std::vector<int64_t>>(name);
    require_count(name, values, static_cast<int64_t>(directions + 2));
    require_values(name, values, 1);
    return {values.begin() + 2, values.end()};
}

Windows read_windows(const Call& call, size_t directions) {
    const std::string format = directions == 2 ? "NCHW" : "NCDHW";
    const std::string& given = call.attribute<std::string>("data_format", format);
    if (given != format) refuse("attribute data_format", format, given);
    Windows windows{of_directions(call, "strides", directions),
                    of_directions(call, "dilations", directions),
                    {},
                    {},
                    call.attribute<int64_t>("groups", 1)};
    const std::vector<int64_t>& pads = call.attribute<std::vector<int64_t>>("pads");
    require_count("pads", pads, static_cast<int64_t>(2 * directions));
    require_values("pads", pads, 0);
    for (size_t d = 0; d < directions; d++) {
        windows.before.push_back(pads[2 * d]);
        windows.after.push_back(pads[2 * d + 1]);
    }
    return windows;
}

// ATen pads both ends of a dimension alike, so what one end has more is padded here first.
at::Tensor padded(const at::Tensor& x, const Windows& windows) {
    std::vector<int64_t> from_last;
    for (size_t d = windows.before.size(); d-- > 0;) from_last.insert(from_last.end(), {windows.before[d], windows.after[d]});
    return at::constant_pad_nd(x, from_last);
}
at::Tensor without_padding(at::Tensor x, const Windows& windows) {
    for (size_t d = 0; d < windows.before.size(); d++)
        x = x.narrow(d + 2, windows.before[d], x.size(d + 2) - windows.before[d] - windows.after[d]);
    return x;
}

void convolve(Call& call, size_t directions) {
    const Windows w = read_windows(call, directions);
    const std::vector<int64_t> none(directions, 0);
    call.write(0, at::convolution(padded(call.computing(0), w), call.computing(1), call.optional_computing(2), w.strides, none, w.dilations,
                                  false, none, w.groups));
}

enum class Wanted { input, weight };

at::Tensor backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const Windows& w, Wanted wanted) {
    const std::vector<int64_t> none(w.strides.size(), 0);
    const std::array<bool, 3> mask = {wanted == Wanted::input, wanted == Wanted::weight, false};
    const auto [of_x, of_weight, of_bias] = at::convolution_backward(grad, padded(x, w), weight, at::OptionalIntArrayRef(), w.strides, none,
                                                                     w.dilations, false, none, w.groups, mask);
    return wanted == Wanted::input ? without_padding(of_x, w) : of_weight;
}

// The first input is the shape of the forward's input.
void to_input(Call& call, size_t directions) {
    const at::Tensor weight = call.computing(1), grad = call.computing(2);
    const std::vector<int64_t> sizes = call.output_sizes(0);
    call.write(0, backward(grad, at::zeros(sizes, grad.options()), weight, read_windows(call, directions), Wanted::input));
}

// The second input is the shape of the weight.
void to_weight(Call& call, size_t directions) {
    const at::Tensor x = call.computing(0), grad = call.computing(2);
    const at::Tensor weight = at::zeros(call.output_sizes(0), x.options());
    call.write(0, backward(grad, x, weight, read_windows(call, directions), Wanted::weight));
}

// A transposed convolution is the gradient of one, of the shape of the output.
void transposed(Call& call, size_t directions) {
    const at::Tensor x = call.computing(1), weight = call.computing(2);
    const at::Tensor result =
        backward(x, at::zeros(call.output_sizes(0), x.options()), weight, read_windows(call, directions), Wanted::input);
    const std::optional<at::Tensor> bias = call.optional_computing(3);
    std::vector<int64_t> channels(directions + 2, 1);
    channels[1] = -1;
    call.write(0, bias ? result + bias->reshape(channels) : result);
}

}  // namespace

RUN_OPERATOR(Conv2D, convolve(call, 2))
RUN_OPERATOR(Conv3D, convolve(call, 3))
RUN_OPERATOR(Conv2DBackpropInput, to_input(call, 2))
RUN_OPERATOR(Conv3DBackpropInput, to_input(call, 3))
RUN_OPERATOR(Conv2DBackpropFilter, to_weight(call, 2))
RUN_OPERATOR(Conv3DBackpropFilter, to_weight(call, 3))
RUN_OPERATOR(Conv2DTranspose, transposed(call, 2))
RUN_OPERATOR(Conv3DTranspose, transposed(call, 3))

// The result has the elements under each position of a kernel as columns. Pads are in the order top, bottom, left, right.
OPERATOR(Im2col) {
    call.require_text("padding_mode", "CALCULATED");
    const std::vector<int64_t>&kernel = call.attribute<std::vector<int64_t>>("ksizes"),
          &pads = call.attribute<std::vector<int64_t>>("pads");
    require_count("ksizes", kernel, 2);
    require_count("pads", pads, 4);
    if (pads[0] != pads[1] || pads[2] != pads[3])
        refuse("attribute pads", "as much at the end as at the beginning", c10::str(at::IntArrayRef(pads)));
    call.write(0, at::im2col(call.input(0), kernel, call.attribute<std::vector<int64_t>>("dilations"), {pads[0], pads[2]},
                             call.attribute<std::vector<int64_t>>("strides")));
}

// Padding with a number, by the edge and by reflection. Input 1 has two amounts for each dimension, from the first dimension on.

// Returns the amounts in ATen's order, from the last dimension on.
static std::vector<int64_t> amounts(const Call& call, int64_t rank) {
    if (!call.attribute<bool>("paddings_contiguous", true)) refuse("attribute paddings_contiguous", "true", "false");
    const std::vector<int64_t> given = call.integers(1);
    require_count("input 1", given, 2 * rank);
    std::vector<int64_t> from_last;
    for (int64_t d = rank - 1; d >= 0; d--) from_last.insert(from_last.end(), {given[2 * d], given[2 * d + 1]});
    return from_last;
}

// Returns the amounts of the last two dimensions, which alone may be padded here.
static std::vector<int64_t> of_images(const Call& call, const at::Tensor& x) {
    if (x.dim() != 4) refuse("input 0", "4 dimensions", shape_text(x.sizes()));
    const std::vector<int64_t> all = amounts(call, 4);
    if (std::any_of(all.begin() + 4, all.end(), [](int64_t n) { return n != 0; }))
        refuse("input 1", "no padding of the first two dimensions", c10::str(at::IntArrayRef(all)));
    return {all.begin(), all.begin() + 4};
}

[[noreturn]] static void refuse_mode(const std::string& expected, const std::string& mode) {
    refuse("attribute mode", expected, mode);
}

OPERATOR(Pad) {
    const at::Tensor x = call.input(0);
    call.write(0, at::constant_pad_nd(x, amounts(call, x.dim())));
}
OPERATOR(PadV3) {
    const at::Tensor x = call.input(0);
    const std::string& mode = call.attribute<std::string>("mode", "constant");
    if (mode == "constant") return call.write(0, at::constant_pad_nd(x, amounts(call, x.dim()), call.has_input(2) ? call.scalar(2) : 0));
    if (mode == "edge") return call.write(0, at::replication_pad2d(x, of_images(call, x)));
    if (mode == "reflect") return call.write(0, at::reflection_pad2d(x, of_images(call, x)));
    refuse_mode("constant, edge or reflect", mode);
}
OPERATOR(MirrorPad) {
    const at::Tensor x = call.input(0);
    const std::string& mode = call.attribute<std::string>("mode");
    if (mode != "REFLECT") refuse_mode("REFLECT", mode);
    call.write(0, at::reflection_pad2d(x, of_images(call, x)));
}
OPERATOR(PadV3Grad) {
    const at::Tensor grad = call.computing(0);
    const std::vector<int64_t> padding = of_images(call, grad);
    const at::Tensor x = at::zeros(call.output_sizes(0), grad.options());
    const std::string& mode = call.attribute<std::string>("mode");
    if (mode == "edge") return call.write(0, at::replication_pad2d_backward(grad, x, padding));
    if (mode == "reflect") return call.write(0, at::reflection_pad2d_backward(grad, x, padding));
    refuse_mode("edge or reflect", mode);
}

// Boxes {x1, y1, x2, y2}, whose last row and column belong to them, and how they differ from others.

namespace {

at::Tensor four_numbers(const Call& call, const char* name) {
    const std::vector<float>& values = call.attribute<std::vector<float>>(name);
    require_count(name, values.size(), 4, 4, 4);
    return at::tensor(values);
}

at::Tensor boxes(const Call& call, size_t i) {
    const at::Tensor given = call.computing(i);
    if (given.dim() != 2 || given.size(1) != 4) refuse("input " + std::to_string(i), "boxes {N, 4}", shape_text(given.sizes()));
    return given;
}

struct Centred {
    at::Tensor centre, size;  // {N, 2}
};

Centred centred(const at::Tensor& boxes) {
    const at::Tensor low = boxes.narrow(1, 0, 2), high = boxes.narrow(1, 2, 2);
    return {(low + high) * 0.5, high - low + 1};
}

}  // namespace

OPERATOR(BoundingBoxEncode) {
    const Centred from = centred(boxes(call, 0)), to = centred(boxes(call, 1));
    const at::Tensor difference = at::cat({(to.centre - from.centre) / from.size, at::log(to.size / from.size)}, 1);
    call.write(0, (difference - four_numbers(call, "means")) / four_numbers(call, "stds"));
}

// Sizes change by no more than the ratio, and boxes end at the image's border if max_shape, its height and width, is given.
OPERATOR(BoundingBoxDecode) {
    const Centred from = centred(boxes(call, 0));
    const at::Tensor difference = boxes(call, 1) * four_numbers(call, "stds") + four_numbers(call, "means");
    const double largest = std::abs(std::log(call.attribute<float>("wh_ratio_clip")));
    const at::Tensor centre = from.centre + from.size * difference.narrow(1, 0, 2);
    const at::Tensor half = from.size * at::exp(at::clamp(difference.narrow(1, 2, 2), -largest, largest)) * 0.5;
    at::Tensor decoded = at::cat({centre - half + 0.5, centre + half - 0.5}, 1);
    const std::vector<int64_t>& shape = call.attribute<std::vector<int64_t>>("max_shape", {});
    if (!shape.empty()) {
        require_count("max_shape", shape.size(), 2, 2, 2);
        const auto height = static_cast<float>(shape[0] - 1), width = static_cast<float>(shape[1] - 1);
        decoded = at::minimum(decoded.clamp_min(0), at::tensor({width, height, width, height}));
    }
    call.write(0, decoded);
}
