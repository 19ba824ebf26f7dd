#include "engine/aten/composite/max_pool_mask.h"

#include <ATen/ATen.h>

#include <limits>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {
namespace {

constexpr int64_t kLargestWindow = std::numeric_limits<int16_t>::max();

// One number may stand for both directions.
int64_t at_axis(at::IntArrayRef values, size_t axis) {
    return values.size() == 1 ? values[0] : values.at(axis);
}

}  // namespace

void require_mask(const at::Tensor& mask, at::IntArrayRef output_sizes, at::IntArrayRef kernel) {
    if (at_axis(kernel, 0) < 1 || at_axis(kernel, 1) < 1 || at_axis(kernel, 0) > kLargestWindow / at_axis(kernel, 1))
        refuse("kernelSize", "1 to 32767 elements in a window", c10::str(kernel));
    const size_t rank = output_sizes.size();
    const int64_t bytes = rank < 3 || mask.sizes().size() != rank ? -1 : mask.size(-1) * mask.size(-2) * mask.element_size();
    if (!mask.is_contiguous() || mask.element_size() != 1 || bytes < 2 * output_sizes[rank - 2] * output_sizes[rank - 1])
        refuse("indices", c10::str("a contiguous mask of bytes for the output ", output_sizes), c10::str("shape ", mask.sizes()));
}

MaxPoolMask::MaxPoolMask(const at::Tensor& self, at::IntArrayRef output_sizes, at::IntArrayRef kernel, at::IntArrayRef stride,
                         at::IntArrayRef padding, at::IntArrayRef dilation)
    : width_(self.size(-1)),
      kernel_width_(at_axis(kernel, 1)),
      row_step_(at_axis(dilation, 0)),
      column_step_(at_axis(dilation, 1)),
      output_sizes_(output_sizes.vec()) {
    const at::IntArrayRef steps = stride.empty() ? kernel : stride;
    const int64_t rows = output_sizes[output_sizes.size() - 2], columns = output_sizes.back();
    first_row_ = (at::arange(rows) * at_axis(steps, 0) - at_axis(padding, 0)).unsqueeze(1);
    first_column_ = at::arange(columns) * at_axis(steps, 1) - at_axis(padding, 1);
}

void MaxPoolMask::store(const at::Tensor& positions, at::Tensor& mask) const {
    const at::Tensor row = at::floor_divide(positions, width_), column = at::remainder(positions, width_);
    const at::Tensor in_window =
        at::floor_divide(row - first_row_, row_step_) * kernel_width_ + at::floor_divide(column - first_column_, column_step_);
    place_in(mask).copy_(in_window);
}

at::Tensor MaxPoolMask::load(const at::Tensor& mask) const {
    const at::Tensor in_window = place_in(mask).to(at::kLong);
    const at::Tensor row = first_row_ + at::floor_divide(in_window, kernel_width_) * row_step_;
    const at::Tensor column = first_column_ + at::remainder(in_window, kernel_width_) * column_step_;
    return row * width_ + column;
}

// The used part of the mask, with the output's shape.
at::Tensor MaxPoolMask::place_in(const at::Tensor& mask) const {
    const int64_t rows = output_sizes_[output_sizes_.size() - 2], columns = output_sizes_.back();
    return mask.flatten(-2).view(at::kShort).narrow(-1, 0, rows * columns).unflatten(-1, at::IntArrayRef{rows, columns});
}

}  // namespace torch_aclnn::host::aten
