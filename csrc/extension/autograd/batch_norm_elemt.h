// The element-wise part of batch norm's backward, and its derivative.
#pragma once

#include "extension/autograd/node.h"

namespace torch_aclnn {

// The arguments of batch_norm_elemt_backward, which are all that its derivative needs.
struct BatchNormElemtArguments {
    static constexpr const char* kName = "BatchNormElemtBackwardBackward";

    at::Tensor grad_out, input, mean, invstd;
    at::Tensor weight;  // undefined means ones
    at::Tensor sum_dy, sum_dy_xmu, count;

    static auto fields(auto& self) {
        return std::tie(self.grad_out, self.input, self.mean, self.invstd, self.weight, self.sum_dy, self.sum_dy_xmu, self.count);
    }

    // The gradients of the arguments; that of count is undefined, because it is no variable.
    variable_list operator()(const variable_list& gradients, const Wanted& wanted) const;
};

// Returns the values in a shape that broadcasts to `like`.
inline at::Tensor per_channel(const at::Tensor& values, const at::Tensor& like) {
    c10::SmallVector<int64_t, 8> sizes(like.dim() - 1, 1);
    sizes[0] = -1;
    return values.view(sizes);
}

inline at::Tensor sum_over_samples(const at::Tensor& values) {
    c10::SmallVector<int64_t, 8> dims;
    for (int64_t d = 0; d < values.dim(); ++d)
        if (d != 1) dims.push_back(d);
    return values.sum(dims);
}

}  // namespace torch_aclnn
