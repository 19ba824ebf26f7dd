// Average pooling and its gradient as a pair of linear maps.
#pragma once

#include <c10/util/SmallVector.h>

#include <optional>

#include "extension/autograd/linear.h"

namespace torch_aclnn {

struct AvgPool2dMap {
    static constexpr const char* kForwardNode = "AvgPool2dBackward";
    static constexpr const char* kBackwardNode = "AvgPool2dBackwardBackward";
    using Pair = c10::SmallVector<int64_t, 2>;
    static Pair pair(at::IntArrayRef values) { return Pair(values.begin(), values.end()); }

    Pair kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    std::optional<int64_t> divisor_override;

    at::Tensor forward(const at::Tensor& input) const;
    at::Tensor backward(const at::Tensor& grad_output, c10::SymIntArrayRef input_size) const;
};

}  // namespace torch_aclnn
