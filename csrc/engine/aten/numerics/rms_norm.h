// Division by the root of the mean square, which many operators begin with.
#pragma once

#include <ATen/ATen.h>

#include "engine/aten/adapter/expected.h"

namespace torch_aclnn::host::aten {

// The dimensions that gamma has, which are the last of x.
inline std::vector<int64_t> normalised_dims(const at::Tensor& gamma) {
    std::vector<int64_t> dims;
    for (int64_t d = -gamma.dim(); d < 0; d++) dims.push_back(d);
    return dims;
}

inline Expected gamma_of(const NamedShape& x, const at::Tensor& gamma) {
    require_last_dims("gamma", gamma.sizes(), x);
    return shaped_like(gamma);
}

struct RmsNormal {
    at::Tensor normal, inverse;  // x / rms(x), and 1 / rms(x)
};
inline RmsNormal rms_normal(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
    const at::Tensor inverse = at::rsqrt(at::mean(x * x, normalised_dims(gamma), true) + epsilon);
    return {x * inverse, inverse};
}

}  // namespace torch_aclnn::host::aten
