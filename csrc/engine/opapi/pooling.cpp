// The gradients of average pooling.
#include "contract/limits.h"
#include "contract/operators.h"
#include "engine/opapi/entry.h"
#include "engine/opapi/planes.h"
#include "engine/runtime/config/soc.h"
#include "kernels/separable/operators.h"
#include "kernels/support/plane_dims.h"
#include "kernels/support/pooled_size.h"

namespace torch_aclnn::host {
namespace {

constexpr int8_t kKeepDtype = 0, kUseHf32 = 3;

struct AvgPool {
    Named grad_output, self;
    IntArray kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    int64_t divisor_override;
    Named grad_input;
    uint64_t dims;

    const aclTensor& in() const { return *self.tensor; }
    bool has_stride() const { return stride.handle != nullptr && !stride.handle->values.empty(); }
    uint64_t first_dim() const { return in().rank() - dims; }  // the plane's first dimension
};

// One value stands for all directions.
kernels::AvgPoolParams params(const AvgPool& a) {
    kernels::AvgPoolParams p{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, a.count_include_pad, a.divisor_override};
    kernels::expand_axes(a.kernel_size.handle->values, a.dims, p.kernel_size);
    kernels::expand_axes((a.has_stride() ? a.stride : a.kernel_size).handle->values, a.dims, p.stride);
    kernels::expand_axes(a.padding.handle->values, a.dims, p.padding);
    return p;
}

void require_image(const Named& t) {
    if (t.tensor->format != ACL_FORMAT_NCHW && t.tensor->format != ACL_FORMAT_NCL)
        refuse(t.name, "format NCHW or NCL", to_string(t.tensor->format));
}

void check_tensors(const Offer& offer, const AvgPool& a) {
    check_planes(offer, a.grad_output, a.self, a.grad_input, a.dims);
    if (a.dims == 2)
        for (const Named& t : {a.grad_output, a.self, a.grad_input}) require_image(t);
    require_same_format(a.grad_input, a.self);
    require_sound({a.grad_output, a.self, a.grad_input});
}

void check_windows(const AvgPool& a) {
    require_length(a.kernel_size, {1, a.dims});
    require_values(a.kernel_size, 1);
    if (a.has_stride()) {
        require_length(a.stride, {1, a.dims});
        require_values(a.stride, 1);
    }
    require_length(a.padding, {1, a.dims});
    require_values(a.padding, 0);
    const kernels::AvgPoolParams p = params(a);
    for (int d = 0; d < 3; ++d)
        if (p.padding[d] > p.kernel_size[d] / 2)
            refuse(a.padding.name, "at most half of kernelSize " + std::to_string(p.kernel_size[d]), std::to_string(p.padding[d]));
}

// The documents only imply this check: a wrong size would make the windows read outside gradOutput.
void check_pooled_shape(const AvgPool& a) {
    require_same_front(a.grad_output, a.self, a.dims);
    const kernels::AvgPoolParams p = params(a);
    for (uint64_t dim = a.first_dim(); dim < a.in().rank(); ++dim) {
        const uint64_t d = 3 + dim - a.in().rank();
        const int64_t in = a.in().sizes[dim];
        if (in < 1 || in + 2 * p.padding[d] < kernels::smallest_padded_size(p.kernel_size[d], p.stride[d], a.ceil_mode))
            refuse(a.self.name,
                   "a size that holds a window of " + std::to_string(p.kernel_size[d]) + " in dimension " + std::to_string(dim),
                   to_string(a.in().sizes));
        require_dim(a.grad_output, dim, kernels::pooled_size(in, p.kernel_size[d], p.stride[d], p.padding[d], a.ceil_mode));
    }
}

Compute check_and_pool(const AvgPool& a) {
    check_windows(a);
    check_pooled_shape(a);
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.grad_input, {a.grad_output});
    return [p = params(a), dims = a.dims](const aclOpExecutor& e) {
        kernels::avg_pool_backward(view_of_planes(e.input(0), dims), view_of_planes(e.output(0), dims), p, config().thread_count);
    };
}

void require_listed_divisor(int64_t divisor) {
    constexpr int64_t kMax = kMaxDivisorOfAvgPool2d;
    if (divisor < -kMax || divisor > kMax)
        refuse("divisorOverride", "a value in [" + std::to_string(-kMax) + ", " + std::to_string(kMax) + "]", std::to_string(divisor));
}

void require_cube_math_type(const aclTensor& in, int8_t type) {
    if (type < kKeepDtype || type > kUseHf32) refuse("cubeMathType", "a value in 0..3", std::to_string(type));
    const bool needs_down_cast = !traits_of(config().product).cube_takes_float32 && (in.dtype == ACL_FLOAT || config().strict);
    if (needs_down_cast && (type == kKeepDtype || type == kUseHf32))
        refuse("cubeMathType", "1 or 2 on " + config().soc_name, std::to_string(type));
}

void require_few_channels(const AvgPool& a) {
    if (a.in().sizes[a.first_dim() - 1] > kMaxChannelsOfAvgPool2d)
        refuse(a.self.name, "at most " + std::to_string(kMaxChannelsOfAvgPool2d) + " channels", to_string(a.in().sizes));
}

Compute avg_pool2d(const Offer& offer, Named grad_output, Named self, IntArray kernel_size, IntArray stride, IntArray padding,
                   bool ceil_mode, bool count_include_pad, int64_t divisor_override, int8_t cube_math_type, Named grad_input) {
    const AvgPool a{grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, grad_input, 2};
    check_tensors(offer, a);
    require_few_channels(a);
    require_listed_divisor(divisor_override);
    require_cube_math_type(a.in(), cube_math_type);
    return check_and_pool(a);
}

// No published page was found that limits the divisor; torch_npu passes any.
Compute avg_pool3d(const Offer& offer, Named grad_output, Named self, IntArray kernel_size, IntArray stride, IntArray padding,
                   bool ceil_mode, bool count_include_pad, int64_t divisor_override, Named output) {
    const AvgPool a{grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, output, 3};
    check_tensors(offer, a);
    if (config().strict) require_listed_divisor(divisor_override);
    return check_and_pool(a);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

#define AVERAGE_POOLING(Type, name, dims, aten, kind, dtypes, assumed_dtypes, ...) \
    OPAPI_ENTRY(aclnn##Type##Backward, "vision", OPAPI_OFFER(name, dtypes, assumed_dtypes), avg_pool##dims##d)
TORCH_ACLNN_AVERAGE_POOLINGS(AVERAGE_POOLING)
