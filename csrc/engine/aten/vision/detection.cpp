// Operators of object detection: overlaps of boxes, and convolutions and attention that sample where a tensor says.

#include <cmath>

#include "engine/aten/quantization/packed_integers.h"
#include "engine/aten/vision/boxes.h"
#include "vocabulary/vision/detection_calls.h"

namespace {

// Where a convolution samples: four pixels around each position, and how much of each. Positions are in the order of the output's rows, the
// kernel's rows, the output's columns and the kernel's columns.
struct Deformation {
    at::IntArrayRef kernel, stride, padding, dilation;
    int64_t groups, deformable_groups;
    bool modulated;

    Int128 length(const at::Tensor& input, int64_t direction) const {  // the output's length
        const Int128 span = Int128{kernel[direction] - 1} * dilation[2 + direction] + 1;
        const Int128 room = Int128{input.size(2 + direction)} + padding[2 * direction] + padding[2 * direction + 1] - span;
        return room < 0 ? 0 : room / stride[2 + direction] + 1;
    }
    void require(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset) const {
        for (const auto& [name, tensor] : {std::pair("input", input), std::pair("weight", weight), std::pair("offset", offset)})
            if (tensor.dim() != 4) refuse(name, "4 dimensions", shape_text(tensor.sizes()));
        if (input.size(1) % groups != 0) refuse("groups", c10::str("a divisor of ", input.size(1)), std::to_string(groups));
        if (weight.size(0) % groups != 0) refuse("groups", c10::str("a divisor of ", weight.size(0)), std::to_string(groups));
        if (input.size(1) % deformable_groups != 0)
            refuse("deformableGroups", c10::str("a divisor of ", input.size(1)), std::to_string(deformable_groups));
        const Int128 channels = Int128{modulated ? 3 : 2} * deformable_groups * kernel[0] * kernel[1];
        if (offset.size(0) != input.size(0) || offset.size(1) != channels || offset.size(2) != length(input, 0) ||
            offset.size(3) != length(input, 1))
            refuse("offset", "two numbers, or three with a mask, for each weight and output", shape_text(offset.sizes()));
        require_same_shape({"weight", weight},
                           {"weight of the kernel", at::empty({weight.size(0), input.size(1) / groups, kernel[0], kernel[1]}, at::kMeta)});
    }

    at::Tensor numbers(const at::Tensor& offset) const {  // shape {2 or 3 (x, y and mask), images times groups, 1, positions}
        const at::Tensor apart = to_double(offset).reshape(
            {offset.size(0), modulated ? 3 : 2, deformable_groups, kernel[0], kernel[1], offset.size(2), offset.size(3)});
        return apart.permute({1, 0, 2, 5, 3, 6, 4}).flatten(3).flatten(1, 2).unsqueeze(2);
    }
    at::Tensor offset_of(const at::Tensor& numbers, const at::Tensor& offset) const {  // the inverse of numbers()
        const at::Tensor apart =
            numbers.reshape({modulated ? 3 : 2, offset.size(0), deformable_groups, offset.size(2), kernel[0], offset.size(3), kernel[1]});
        return apart.permute({1, 0, 2, 4, 6, 3, 5}).reshape(offset.sizes());
    }
    at::Tensor position(const at::Tensor& numbers, const at::Tensor& offset, int64_t direction) const {
        const at::Tensor outputs = at::arange(offset.size(2 + direction), at::kDouble) * stride[2 + direction];
        const at::Tensor taps = at::arange(kernel[direction], at::kDouble) * dilation[2 + direction];
        const at::Tensor plain = (outputs.unsqueeze(1) + taps - padding[2 * direction]).flatten();
        const int64_t columns = offset.size(3) * kernel[1], rows = offset.size(2) * kernel[0];
        const at::Tensor all = direction == 0 ? plain.unsqueeze(1).expand({rows, columns}) : plain.expand({rows, columns});
        return numbers[1 - direction] + all.reshape({-1});
    }
};

// Calls the function with the positions of each of the four pixels in the image {channels, height times width}, where there is none with
// zeros for what it takes; what it takes; and how that changes with the two coordinates.
void each_neighbour(const at::Tensor& y, const at::Tensor& x, int64_t height, int64_t width, auto function) {
    const at::Tensor top = y.floor(), left = x.floor(), down = y - top, right = x - left;
    for (const bool lower : {false, true})
        for (const bool farther : {false, true}) {
            const at::Tensor row = top + double(lower), column = left + double(farther);
            const at::Tensor there = (row >= 0).logical_and(row < height).logical_and(column >= 0).logical_and(column < width);
            const at::Tensor index = at::where(there, row * width + column, 0.0).to(at::kLong);
            const at::Tensor by_row = lower ? down : 1 - down, by_column = farther ? right : 1 - right;
            const auto kept = [&](const at::Tensor& weight) { return at::where(there, weight, 0.0); };
            function(index, kept(by_row * by_column), kept(lower ? by_column : -by_column), kept(farther ? by_row : -by_row));
        }
}

// A location for each image, query, head, level and sample: (x, y) from 0 to 1, as mmcv documents its own, which it passes unchanged. The
// published page has "y, x".
Expected located(const at::Tensor& value, const at::Tensor& location) {
    if (location.dim() != 6) refuse("location", "6 dimensions", shape_text(location.sizes()));
    return shape({value.size(0), location.size(1), value.size(2), location.size(3), location.size(4), 2});
}
// The results of the heads are one behind the other, or in a dimension of their own.
Either attended(const at::Tensor& value, const at::Tensor& location) {
    const int64_t images = value.size(0), queries = location.size(1), heads = value.size(2), channels = value.size(3);
    return either(Expected({images, queries, heads * channels}, value.scalar_type()),
                  Expected({images, queries, heads, channels}, value.scalar_type()));
}
// Returns {images, n, heads, ...} as {images times heads, n, ...}, or the opposite.
at::Tensor by_head(const at::Tensor& tensor) {
    return to_double(tensor).transpose(1, 2).flatten(0, 1);
}
at::Tensor by_image(const at::Tensor& tensor, const at::Tensor& value) {
    return tensor.unflatten(0, at::IntArrayRef{value.size(0), value.size(2)}).transpose(1, 2);
}

}  // namespace

static Deformation deformation(const auto& a) {
    return {a.kernelSize, a.stride, a.padding, a.dilation, a.groups, a.deformableGroups, a.modulated};
}

// With `aligned` each box is compared only with the one at the same position.
static void compute(const call::Iou& a) {
    const Boxes first = corners(a.bBoxes, 1, false).along(1), second = corners(a.gtBoxes, 1, false).along(a.aligned ? 1 : 0);
    const at::Tensor common = common_area(first, second), of_second = second.width() * second.height();
    const at::Tensor whole = a.mode == "iof" ? of_second : first.width() * first.height() + of_second - common;
    write(a.overlap, common / (whole + double{a.eps}));
}

// The overlap loses a part for the distance of the centres, and one for how the shapes differ, as angles of the diagonals.
static void compute(const call::CIoU& a) {
    const Overlap overlap{corners(a.bBoxes, 0, a.trans).along(0), corners(a.gtBoxes, 0, a.trans).along(a.isCross ? 1 : 0), a.mode == "iof"};
    write(a.overlap, overlap.complete());
    write(a.atanSub, overlap.angle());
}

static void compute(const call::DeformableConv2d& a) {
    const Deformation how = deformation(a);
    const at::Tensor numbers = how.numbers(a.offset);
    const at::Tensor y = how.position(numbers, a.offset, 0), x = how.position(numbers, a.offset, 1);
    const int64_t parts = a.input.size(0) * a.deformableGroups, channels = a.input.size(1) / a.deformableGroups;
    const at::Tensor images = to_double(a.input).reshape({parts, channels, a.input.size(2) * a.input.size(3)});
    const auto by_channel = [&](const at::Tensor& index) { return index.expand({parts, channels, index.size(2)}); };
    at::Tensor sampled = at::zeros({parts, channels, x.size(2)}, at::kDouble);
    each_neighbour(y, x, a.input.size(2), a.input.size(3),
                   [&](const at::Tensor& index, const at::Tensor& weights, const auto&, const auto&) {
                       if (images.size(2) > 0) sampled += images.gather(2, by_channel(index)) * weights;
                   });
    const at::Tensor deformed = (a.modulated ? sampled * numbers[2] : sampled).reshape(a.deformOut.sizes());
    const OptTensor bias = a.biasOptional ? std::optional(to_double(*a.biasOptional)) : std::nullopt;
    write(a.out, at::conv2d(deformed, to_double(a.weight), bias, a.kernelSize, at::IntArrayRef{0, 0}, at::IntArrayRef{1, 1}, a.groups));
    write(a.deformOut, deformed);
}
static void compute(const call::DeformableConv2dBackward& a) {
    const Deformation how = deformation(a);
    const at::Tensor numbers = how.numbers(a.offset);
    const at::Tensor y = how.position(numbers, a.offset, 0), x = how.position(numbers, a.offset, 1);
    const int64_t parts = a.input.size(0) * a.deformableGroups, channels = a.input.size(1) / a.deformableGroups;
    const at::Tensor images = to_double(a.input).reshape({parts, channels, a.input.size(2) * a.input.size(3)});
    const auto by_channel = [&](const at::Tensor& index) { return index.expand({parts, channels, index.size(2)}); };
    const auto [of_deformed, of_weight, of_bias] = at::convolution_backward(
        to_double(a.gradOutput), to_double(a.offsetOut), to_double(a.weight), at::IntArrayRef{a.weight.size(0)}, a.kernelSize,
        at::IntArrayRef{0, 0}, at::IntArrayRef{1, 1}, false, at::IntArrayRef{0, 0}, a.groups, {true, true, true});
    const at::Tensor grad = of_deformed.reshape({parts, channels, -1});
    const at::Tensor of_sampled = a.modulated ? grad * numbers[2] : grad;
    at::Tensor of_images = at::zeros_like(images), of_numbers = at::zeros_like(numbers);
    each_neighbour(y, x, a.input.size(2), a.input.size(3),
                   [&](const at::Tensor& index, const at::Tensor& weights, const at::Tensor& by_y, const at::Tensor& by_x) {
                       if (images.size(2) == 0) return;
                       of_images.scatter_add_(2, by_channel(index), of_sampled * weights);
                       const at::Tensor values = images.gather(2, by_channel(index));
                       of_numbers[0] += (of_sampled * values * by_x).sum(1, true);
                       of_numbers[1] += (of_sampled * values * by_y).sum(1, true);
                       if (a.modulated) of_numbers[2] += (grad * values * weights).sum(1, true);
                   });
    write(a.gradInput, of_images.reshape(a.input.sizes()));
    write(a.gradWeight, of_weight);
    write(a.gradOffset, how.offset_of(of_numbers, a.offset));
    write(a.gradBias, of_bias);
}

// Calls the function for each level and pixel around its samples: with the level, the positions in all levels of each image and head
// {images times heads, samples, 1}, and what each_neighbour says of them.
static void each_sample(const auto& a, auto function) {
    const at::Tensor sizes = a.spatialShape.to(at::kLong), starts = a.levelStartIndex.to(at::kLong), locations = by_head(a.location);
    const int64_t bound = a.value.size(1) + 1;
    require_indices("spatialShape", sizes, int64_t{1} << 31);
    require_indices("levelStartIndex", starts, bound);
    require_indices("spatialShape", starts + sizes.prod(1), bound);
    for (int64_t level = 0; level < sizes.size(0); level++) {
        const auto height = sizes[level][0].item<int64_t>(), width = sizes[level][1].item<int64_t>();
        if (height == 0 || width == 0) continue;
        const at::Tensor places = locations.select(2, level).flatten(1, 2);
        const at::Tensor x = places.narrow(2, 0, 1) * width - 0.5, y = places.narrow(2, 1, 1) * height - 0.5;
        each_neighbour(y, x, height, width,
                       [&](const at::Tensor& index, const at::Tensor& weights, const at::Tensor& by_y, const at::Tensor& by_x) {
                           function(level, index + starts[level], weights, by_y * height, by_x * width);
                       });
    }
}
static void compute(const call::MultiScaleDeformableAttnFunction& a) {
    const at::Tensor maps = by_head(a.value), attention = by_head(a.attnWeight);
    at::Tensor sums = at::zeros({maps.size(0), a.location.size(1), maps.size(2)}, at::kDouble);
    each_sample(a, [&](int64_t level, const at::Tensor& index, const at::Tensor& weights, const auto&, const auto&) {
        const at::Tensor shares = weights * attention.select(2, level).flatten(1).unsqueeze(2);
        const at::Tensor values = maps.gather(1, index.expand({index.size(0), index.size(1), maps.size(2)})) * shares;
        sums += values.unflatten(1, at::IntArrayRef{a.location.size(1), a.location.size(4)}).sum(2);
    });
    write(a.output, by_image(sums, a.value).reshape(a.output.sizes()));
}
static void compute(const call::MultiScaleDeformableAttentionGrad& a) {
    const at::Tensor maps = by_head(a.value), attention = by_head(a.attnWeight), location = by_head(a.location);
    const at::Tensor grad = by_head(a.gradOutput.reshape({a.value.size(0), a.location.size(1), a.value.size(2), a.value.size(3)}))
                                .repeat_interleave(a.location.size(4), 1);
    at::Tensor of_maps = at::zeros_like(maps), of_attention = at::zeros_like(attention), of_location = at::zeros_like(location);
    each_sample(a, [&](int64_t level, const at::Tensor& index, const at::Tensor& weights, const at::Tensor& by_y, const at::Tensor& by_x) {
        const at::Tensor channels = index.expand(grad.sizes()), shares = attention.select(2, level).flatten(1).unsqueeze(2);
        of_maps.scatter_add_(1, channels, grad * shares * weights);
        const at::Tensor along = (grad * maps.gather(1, channels)).sum(2, true);
        of_attention.select(2, level) += (along * weights).reshape_as(of_attention.select(2, level));
        of_location.select(2, level) += (along * shares * at::cat({by_x, by_y}, 2)).reshape_as(of_location.select(2, level));
    });
    write(a.gradValue, by_image(of_maps, a.value));
    write(a.gradLocation, by_image(of_location, a.value));
    write(a.gradAttnWeight, by_image(of_attention, a.value));
}
