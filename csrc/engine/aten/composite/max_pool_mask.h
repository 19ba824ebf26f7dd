// What 2D max pooling leaves for its backward: for each output the position of its maximum within the window, as int16.
//
// The caller's tensor has kH * kW * (ceil(oH * oW / 16) + 1) * 32 bytes for each plane, which a chip fills with bits. Of these, the first
// 2 * oH * oW are used. Nobody but the backward reads them.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_aclnn::host::aten {

// 161002 unless the window's positions fit int16 and the mask has room for one for each output.
void require_mask(const at::Tensor& mask, at::IntArrayRef output_sizes, at::IntArrayRef kernel);

class MaxPoolMask {
   public:
    // `output_sizes` are those of the pooling's result.
    MaxPoolMask(const at::Tensor& self, at::IntArrayRef output_sizes, at::IntArrayRef kernel, at::IntArrayRef stride,
                at::IntArrayRef padding, at::IntArrayRef dilation);

    void store(const at::Tensor& positions, at::Tensor& mask) const;  // flat positions in the input's plane
    at::Tensor load(const at::Tensor& mask) const;

   private:
    at::Tensor place_in(const at::Tensor& mask) const;

    int64_t width_, kernel_width_, row_step_, column_step_;
    std::vector<int64_t> output_sizes_;
    at::Tensor first_row_, first_column_;  // of each window, in the plane; they broadcast to the output
};

}  // namespace torch_aclnn::host::aten
