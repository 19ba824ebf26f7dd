// The mask that 2D max pooling leaves for its backward: for each output the position of its maximum within the window, as int16.
//
// The caller's tensor has kH * kW * (ceil(oH * oW / 16) + 1) * 32 bytes for each plane, which a chip fills with bits. Of these, the first
// 2 * oH * oW are used. Nobody but the backward reads them.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace torch_aclnn::host::aten {

// 161002 unless the window's positions fit int16 and the mask has room for one for each output.
void require_mask(const at::Tensor& mask, at::IntArrayRef output_sizes, at::IntArrayRef kernel);

class MaxPoolMask {
   public:
    // `output_sizes` are those of the pooling's result.
    MaxPoolMask(const at::Tensor& self, at::IntArrayRef output_sizes, at::IntArrayRef kernel, at::IntArrayRef stride,
                at::IntArrayRef padding, at::IntArrayRef dilation);

    void store(const at::Tensor& positions, at::Tensor& mask) const;  // flat positions in the input's plane
    // Refuses a mask with a position that lies outside of its window or of the input.
    at::Tensor load(const at::Tensor& mask) const;

   private:
    // One direction of the windows: where each begins, which may be in the padding, and how far their elements lie from there.
    struct Direction {
        int64_t size, kernel, step;
        std::vector<int64_t> first;

        Direction(int64_t size, int64_t outputs, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);
    };

    std::vector<int64_t> output_sizes_;
    Direction rows_, columns_;
};

}  // namespace torch_aclnn::host::aten
