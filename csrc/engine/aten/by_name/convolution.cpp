// Convolutions in two and three directions, with their gradients. Half types are summed in float32.
#include <array>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// The attributes that all convolutions have, for the spatial directions only.
struct Windows {
    std::vector<int64_t> strides, dilations, before, after;
    int64_t groups;
};

// One value for each dimension, of which the first two, N and C, have 1.
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

// ATen pads as much after as before, so the difference is made up before.
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

// The shape of the forward's input comes first.
void to_input(Call& call, size_t directions) {
    const at::Tensor weight = call.computing(1), grad = call.computing(2);
    const std::vector<int64_t> sizes = call.output_sizes(0);
    call.write(0, backward(grad, at::zeros(sizes, grad.options()), weight, read_windows(call, directions), Wanted::input));
}

// The shape of the weight comes second.
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

// The elements under each position of a kernel, as columns. Pads are in the order top, bottom, left, right.
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
