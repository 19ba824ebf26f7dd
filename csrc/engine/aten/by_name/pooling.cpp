// Pooling of images.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

// Rows and columns, in lists of four that have 1 for the other dimensions; `rows` is the place of the first.
std::vector<int64_t> of_image(const Call& call, const char* name, size_t rows, int64_t lowest) {
    const std::vector<int64_t>& values = call.attribute<std::vector<int64_t>>(name);
    require_count(name, values, 4);
    require_values(name, values, lowest);
    return {values[rows], values[rows + 1]};
}

struct AverageWindows {
    std::vector<int64_t> kernel, stride, padding;
    bool ceil_mode, with_padding;
};

// Pads come as top, bottom, left, right. In ceil mode those at the ends follow from the others, as in ATen.
AverageWindows average_windows(const Call& call) {
    call.require_text("padding_mode", "CALCULATED");
    call.require_text("data_format", "NCHW");
    if (call.attribute<bool>("global_pooling", false)) refuse("attribute global_pooling", "false", "true");
    AverageWindows w{of_image(call, "ksize", 2, 1),
                     of_image(call, "strides", 2, 1),
                     {},
                     call.attribute<bool>("ceil_mode", false),
                     !call.attribute<bool>("exclusive", true)};
    const std::vector<int64_t>& pads = call.attribute<std::vector<int64_t>>("pads");
    require_count("pads", pads, 4);
    if (!w.ceil_mode && (pads[0] != pads[1] || pads[2] != pads[3]))
        refuse("attribute pads", "as much at the end as at the beginning", c10::str(at::IntArrayRef(pads)));
    w.padding = {pads[0], pads[2]};
    require_values("pads", w.padding, 0);
    return w;
}

struct LargestWindows {
    std::vector<int64_t> kernel, stride, padding, dilation;
    bool ceil_mode;

    std::tuple<at::Tensor, at::Tensor> pooled(const at::Tensor& x) const {
        return at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode);
    }
};

LargestWindows largest_windows(const Call& call, const char* dilation) {
    return {of_image(call, "ksize", 1, 1), of_image(call, "strides", 1, 1), of_image(call, "pads", 1, 0), of_image(call, dilation, 1, 1),
            call.attribute<bool>("ceil_mode", false)};
}

}  // namespace

OPERATOR(AvgPoolV2) {
    const AverageWindows w = average_windows(call);
    const int64_t divisor = call.attribute<int64_t>("divisor_override", 0);
    call.write(0, at::avg_pool2d(call.computing(0), w.kernel, w.stride, w.padding, w.ceil_mode, w.with_padding,
                                 divisor == 0 ? std::nullopt : std::optional(divisor)));
}
// The shape of the forward's input comes first.
OPERATOR(AvgPoolV2Grad) {
    const AverageWindows w = average_windows(call);
    const at::Tensor grad = call.computing(1);
    call.write(0, at::avg_pool2d_backward(grad, at::zeros(call.integers(0), grad.options()), w.kernel, w.stride, w.padding, w.ceil_mode,
                                          w.with_padding, std::nullopt));
}

OPERATOR(AdaptiveAvgPool2d) {
    const std::vector<int64_t>& sizes = call.attribute<std::vector<int64_t>>("output_size");
    require_count("output_size", sizes, 2);
    call.write(0, at::_adaptive_avg_pool2d(call.computing(0), sizes));
}
OPERATOR(AdaptiveAvgPool2dGrad) {
    const at::Tensor grad = call.computing(0);
    const std::vector<int64_t>& sizes = call.attribute<std::vector<int64_t>>("orig_input_shape");
    call.write(0, at::_adaptive_avg_pool2d_backward(grad, at::zeros(sizes, grad.options())));
}

// What argmax holds is the chip's own, and the backward has x: it finds the maxima again.
OPERATOR(MaxPoolWithArgmaxV1) {
    call.write(0, std::get<0>(largest_windows(call, "dilation").pooled(call.computing(0))));
    call.write(1, at::zeros(call.output_sizes(1), call.output_type(1)));
}
OPERATOR(MaxPoolGradWithArgmaxV1) {
    const LargestWindows w = largest_windows(call, "dilations");
    const at::Tensor x = call.computing(0);
    call.write(0, at::max_pool2d_with_indices_backward(call.computing(1), x, w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode,
                                                       std::get<1>(w.pooled(x))));
}
