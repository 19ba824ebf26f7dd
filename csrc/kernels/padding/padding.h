// What the gradients of the paddings that repeat elements have in common.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// Which output indices each input index of an axis was copied to: source()[begin()[i]], ..., source()[begin()[i + 1] - 1]. Filled in index
// by index, with ascending output indices. Few numbers need no allocation, which takes as long as some rows of a small tensor.
class SourceAxis {
   public:
    SourceAxis(int64_t in, int64_t out)
        : in_(in),
          out_(out),
          allocated_(in + 1 + out > kFew ? new int64_t[in + 1 + out] : nullptr),
          numbers_(allocated_ ? allocated_.get() : few_) {
        numbers_[0] = 0;
    }
    SourceAxis(const SourceAxis&) = delete;
    SourceAxis& operator=(const SourceAxis&) = delete;

    // Adds an output index to those of the present input index, unless it was cropped off.
    void add(int64_t output) {
        if (output >= 0 && output < out_) numbers_[in_ + 1 + count_++] = output;
    }
    void next() { numbers_[++filled_] = count_; }

    int64_t in() const { return in_; }
    int64_t out() const { return out_; }
    const int64_t* begin() const { return numbers_; }
    const int64_t* source() const { return numbers_ + in_ + 1; }

   private:
    static constexpr int64_t kFew = 128;
    int64_t in_, out_;
    int64_t filled_ = 0, count_ = 0;  // of the input indices, and of the output indices
    int64_t few_[kFew];
    std::unique_ptr<int64_t[]> allocated_;
    int64_t* const numbers_;
};

// grad_input[n,c,d,h,w] = sum of grad_output[n,c,od,oh,ow] over all (od, oh, ow) that (d, h, w) was copied to; both of one real or complex
// floating-point type. `rows` is of depth and rows, as one axis.
void padding_backward(const View<5>& grad_output, const View<5>& grad_input, const SourceAxis& rows, const SourceAxis& columns,
                      int thread_count);

}  // namespace torch_aclnn::kernels
