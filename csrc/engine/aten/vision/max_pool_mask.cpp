#include "engine/aten/vision/max_pool_mask.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>

#include "engine/aten/adapter/relations.h"

namespace torch_aclnn::host::aten {

constexpr int64_t kLargestWindow = std::numeric_limits<int16_t>::max();

static int64_t at_axis(at::IntArrayRef values, size_t axis) {
    return values.size() == 1 ? values[0] : values.at(axis);
}

static int64_t bytes_of_plane(const at::Tensor& mask) {
    return mask.size(-1) * mask.size(-2);
}

// Calls `row` for each row of outputs, with its number in the plane, the positions of the maxima in the input's plane, and their positions
// in the windows.
static void for_each_row(const at::Tensor& positions, const at::Tensor& mask, const auto& row) {
    constexpr int64_t kElementsPerTask = 1 << 14;
    const int64_t rows = positions.size(-2), columns = positions.size(-1);
    if (positions.numel() == 0) return;
    auto* const position = positions.mutable_data_ptr<int64_t>();
    auto* const in_window = static_cast<int16_t*>(mask.mutable_data_ptr());
    const int64_t plane = bytes_of_plane(mask) / 2;
    at::parallel_for(0, positions.numel() / columns, kElementsPerTask / columns + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) row(i % rows, position + i * columns, in_window + i / rows * plane + i % rows * columns);
    });
}

[[noreturn]] static void refuse_position(int position, size_t elements) {
    refuse("indices", c10::str("a mask that aclnnMaxPool2dWithMask wrote for these windows of ", elements, " elements"),
           c10::str("position ", position));
}

void require_mask(const at::Tensor& mask, at::IntArrayRef output_sizes, at::IntArrayRef kernel) {
    if (at_axis(kernel, 0) < 1 || at_axis(kernel, 1) < 1 || at_axis(kernel, 0) > kLargestWindow / at_axis(kernel, 1))
        refuse("kernelSize", "1 to 32767 elements in a window", c10::str(kernel));
    const size_t rank = output_sizes.size();
    const bool of_planes = rank >= 3 && mask.sizes().size() == rank && mask.sizes().slice(0, rank - 2) == output_sizes.slice(0, rank - 2);
    const int64_t bytes = of_planes ? bytes_of_plane(mask) : -1;
    if (mask.element_size() != 1 || bytes % 2 != 0 || bytes < 2 * output_sizes[rank - 2] * output_sizes[rank - 1])
        refuse("indices", c10::str("a mask of bytes for the output ", output_sizes), shape_text(mask.sizes()));
}

MaxPoolMask::Direction::Direction(int64_t size, int64_t outputs, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation)
    : size(size), kernel(kernel), step(dilation), first(outputs) {
    for (int64_t i = 0; i < outputs; ++i) first[i] = i * stride - padding;
}

MaxPoolMask::MaxPoolMask(const at::Tensor& self, at::IntArrayRef output_sizes, at::IntArrayRef kernel, at::IntArrayRef stride,
                         at::IntArrayRef padding, at::IntArrayRef dilation)
    : output_sizes_(output_sizes.vec()),
      rows_(self.size(-2), output_sizes[output_sizes.size() - 2], at_axis(kernel, 0), at_axis(stride.empty() ? kernel : stride, 0),
            at_axis(padding, 0), at_axis(dilation, 0)),
      columns_(self.size(-1), output_sizes.back(), at_axis(kernel, 1), at_axis(stride.empty() ? kernel : stride, 1), at_axis(padding, 1),
               at_axis(dilation, 1)) {}

void MaxPoolMask::store(const at::Tensor& positions, at::Tensor& mask) const {
    // The tables have the positions by distance from the window's first element. Where a direction is not dilated, elements are one apart.
    std::vector<int16_t> of_row((rows_.kernel - 1) * rows_.step + 1), of_column((columns_.kernel - 1) * columns_.step + 1);
    for (int64_t i = 0; i < rows_.kernel; ++i) of_row[i * rows_.step] = static_cast<int16_t>(i * columns_.kernel);
    for (int64_t i = 0; i < columns_.kernel; ++i) of_column[i * columns_.step] = static_cast<int16_t>(i);

    for_each_row(positions.contiguous(), mask, [&](int64_t row, const int64_t* position, int16_t* in_window) {
        for (size_t column = 0; column < columns_.first.size(); ++column) {
            // A quotient in double is exact below 2^52, and takes a fraction of the time of one in int64.
            const int64_t y = static_cast<int64_t>(static_cast<double>(position[column]) / static_cast<double>(columns_.size));
            const int64_t x = position[column] - y * columns_.size;
            in_window[column] = of_row[y - rows_.first[row]] + of_column[x - columns_.first[column]];
        }
    });
}

at::Tensor MaxPoolMask::load(const at::Tensor& mask) const {
    struct Distance {
        int64_t rows, columns;
    };
    std::vector<Distance> distances(rows_.kernel * columns_.kernel);
    for (size_t i = 0; i < distances.size(); ++i)
        distances[i] = {static_cast<int64_t>(i) / columns_.kernel * rows_.step, static_cast<int64_t>(i) % columns_.kernel * columns_.step};

    const at::Tensor positions = at::empty(output_sizes_, at::kLong);
    for_each_row(positions, mask, [&](int64_t row, int64_t* position, const int16_t* in_window) {
        for (size_t column = 0; column < columns_.first.size(); ++column) {
            const size_t element = static_cast<uint16_t>(in_window[column]);
            if (element >= distances.size()) refuse_position(in_window[column], distances.size());
            const int64_t y = rows_.first[row] + distances[element].rows, x = columns_.first[column] + distances[element].columns;
            if (y < 0 || y >= rows_.size || x < 0 || x >= columns_.size) refuse_position(in_window[column], distances.size());
            position[column] = y * columns_.size + x;
        }
    });
    return positions;
}

}  // namespace torch_aclnn::host::aten
