// How many values of a tensor of whole numbers lie in each of several ranges of equal width; ATen counts floating types only.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_aclnn::host::aten {

// The counts in `bins` ranges between low and high, as int64.
at::Tensor histogram(const at::Tensor& self, double low, double high, int64_t bins);

}  // namespace torch_aclnn::host::aten
