// What the gradients of the paddings that repeat elements have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// Which output indices each input index of an axis was copied to. Filled in index by index, with ascending output indices.
class SourceAxis {
   public:
    SourceAxis(int64_t in, int64_t out) : out_(out) {
        begin_.reserve(in + 1);
        begin_.push_back(0);
        source_.reserve(out);
    }
    // Adds an output index to those of the present input index, unless it was cropped off.
    void add(int64_t output) {
        if (output >= 0 && output < out_) source_.push_back(output);
    }
    void next() { begin_.push_back(static_cast<int64_t>(source_.size())); }

    int64_t in() const { return static_cast<int64_t>(begin_.size()) - 1; }
    int64_t out() const { return out_; }
    const std::vector<int64_t>& begin() const { return begin_; }
    const std::vector<int64_t>& source() const { return source_; }

   private:
    int64_t out_;
    std::vector<int64_t> begin_, source_;
};

// grad_input[n,c,h,w] = sum of grad_output[n,c,oh,ow] over all (oh, ow) that (h, w) was copied to; both of one real or complex
// floating-point type.
void padding_backward(const View<4>& grad_output, const View<4>& grad_input, const SourceAxis& rows, const SourceAxis& columns,
                      int thread_count);

}  // namespace torch_aclnn::kernels
