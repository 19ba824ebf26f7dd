// Pooling of images and volumes.
#include "engine/aten/by_name/call.h"

namespace {

// The list has four values: those of rows and columns, the first at place `rows`, and 1 for the other dimensions.
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

// The list has five values: 1 for batch and channels, and those of depth, rows and columns.
std::vector<int64_t> of_volume(const Call& call, const char* name, const std::vector<int64_t>& otherwise = {}) {
    const std::vector<int64_t> values = otherwise.empty() ? call.attribute<std::vector<int64_t>>(name) : call.attribute(name, otherwise);
    require_count(name, values, 5);
    require_values(name, values, 1);
    return {values[2], values[3], values[4]};
}

// The list has the values of depth, rows and columns alone.
std::vector<int64_t> of_three(const Call& call, const char* name) {
    const std::vector<int64_t>& values = call.attribute<std::vector<int64_t>>(name);
    require_count(name, values, 3);
    require_values(name, values, 1);
    return values;
}

// Pads come as front, back, top, bottom, left, right.
struct AverageOfVolume {
    std::vector<int64_t> kernel, stride, padding;
    bool ceil_mode, with_padding;
    std::optional<int64_t> divisor;

    AverageOfVolume(const Call& call, std::vector<int64_t> kernel, std::vector<int64_t> stride)
        : kernel(std::move(kernel)),
          stride(std::move(stride)),
          ceil_mode(call.attribute<bool>("ceil_mode", false)),
          with_padding(call.attribute<bool>("count_include_pad", true)) {
        call.require_text("data_format", "NCDHW");
        const std::vector<int64_t>& pads = call.attribute<std::vector<int64_t>>("pads");
        require_count("pads", pads, 6);
        require_values("pads", pads, 0);
        for (size_t d = 0; d < 3; ++d) {
            if (pads[2 * d] != pads[2 * d + 1])
                refuse("attribute pads", "as much at the end as at the beginning", c10::str(at::IntArrayRef(pads)));
            padding.push_back(pads[2 * d]);
        }
        const int64_t given = call.attribute<int64_t>("divisor_override", 0);
        if (given != 0) divisor = given;
    }
};

// A volume without a batch is one of a batch; torch_npu gives the result of the forward a batch all the same.
at::Tensor in_a_batch(const at::Tensor& x) {
    return x.dim() == 4 ? x.unsqueeze(0) : x;
}

// Pads come as front, back, top, bottom, left, right. Those at the ends are as much as the windows of the result need, so that the rounding
// of sizes is the caller's; where the windows need less than all of the volume, the amount is negative.
struct LargestOfVolume {
    std::vector<int64_t> kernel, stride, dilation, amounts;

    LargestOfVolume(const Call& call, at::IntArrayRef sizes, at::IntArrayRef of_result)
        : kernel(of_volume(call, "ksize")), stride(of_volume(call, "strides")), dilation(of_volume(call, "dilation", {1, 1, 1, 1, 1})) {
        call.require_text("padding", "CALCULATED");
        call.require_text("data_format", "NCDHW");
        const std::vector<int64_t>& pads = call.attribute<std::vector<int64_t>>("pads");
        require_count("pads", pads, 6);
        require_values("pads", pads, 0);
        if (sizes.size() != 5 || of_result.size() != 5)
            refuse("input 0", "5 dimensions, like the result", c10::str("shapes ", sizes, " and ", of_result));
        for (int d = 2; d >= 0; d--) {
            const int64_t needed = (of_result[d + 2] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1;
            const int64_t at_end = needed - sizes[d + 2] - pads[2 * d];
            if (at_end > pads[2 * d + 1]) refuse("attribute pads", c10::str(at_end, " at the end of dimension ", d + 2), c10::str(pads));
            amounts.insert(amounts.end(), {pads[2 * d], at_end});
        }
    }

    at::Tensor padded(const at::Tensor& x) const { return at::constant_pad_nd(x, amounts, -std::numeric_limits<double>::infinity()); }

    std::tuple<at::Tensor, at::Tensor> pooled(const at::Tensor& padded) const {
        return at::max_pool3d_with_indices(padded, kernel, stride, 0, dilation, false);
    }

    at::Tensor gradient(const at::Tensor& grad, const at::Tensor& x) const {
        const at::Tensor of_windows = padded(x);
        const at::Tensor of_padded =
            at::max_pool3d_with_indices_backward(grad, of_windows, kernel, stride, 0, dilation, false, std::get<1>(pooled(of_windows)));
        std::vector<int64_t> back;
        for (const int64_t amount : amounts) back.push_back(-amount);
        return at::constant_pad_nd(of_padded, back, 0);
    }
};

}  // namespace

OPERATOR(AvgPoolV2) {
    const AverageWindows w = average_windows(call);
    const int64_t divisor = call.attribute<int64_t>("divisor_override", 0);
    call.write(0, at::avg_pool2d(call.computing(0), w.kernel, w.stride, w.padding, w.ceil_mode, w.with_padding,
                                 divisor == 0 ? std::nullopt : std::optional(divisor)));
}
OPERATOR(AvgPool3D) {
    const AverageOfVolume w(call, of_three(call, "ksize"), of_three(call, "strides"));
    call.write(0, at::avg_pool3d(call.computing(0), w.kernel, w.stride, w.padding, w.ceil_mode, w.with_padding, w.divisor));
}
// The shape of the forward's input comes first, as in AvgPoolV2Grad, and windows are lists of five, other than in the forward.
OPERATOR(AvgPool3DGrad) {
    const AverageOfVolume w(call, of_volume(call, "ksize"), of_volume(call, "strides"));
    const at::Tensor grad = call.computing(1);
    call.write(0, at::avg_pool3d_backward(grad, at::zeros(call.integers(0), grad.options()), w.kernel, w.stride, w.padding, w.ceil_mode,
                                          w.with_padding, w.divisor));
}
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

// The content of argmax is private to the chip. The backward has x, and finds the maxima again.
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

OPERATOR(MaxPool3D) {
    const at::Tensor x = in_a_batch(call.computing(0));
    const LargestOfVolume windows(call, x.sizes(), call.output_sizes(0));
    call.write(0, std::get<0>(windows.pooled(windows.padded(x))));
}
// The inputs are the forward's input and result, and the result's gradient; the maxima are found again.
OPERATOR(MaxPool3DGrad) {
    const at::Tensor x = in_a_batch(call.computing(0)), grad = in_a_batch(call.computing(2));
    call.write(0, LargestOfVolume(call, x.sizes(), grad.sizes()).gradient(grad, x));
}
