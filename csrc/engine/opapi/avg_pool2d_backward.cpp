#include "kernels/avg_pool2d_backward/avg_pool2d_backward.h"

#include <algorithm>

#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "engine/opapi/arguments.h"
#include "engine/opapi/products.h"
#include "engine/runtime/device/soc.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING;
constexpr int8_t kKeepDtype = 0, kUseHf32 = 3;
constexpr int64_t kMaxChannels = 65535;
constexpr int64_t kMaxDivisor = 255;

struct Arguments {
    Named grad_output, self, grad_input;
    NamedPointer<aclIntArray> kernel_size, stride, padding;
    bool ceil_mode, count_include_pad;
    int64_t divisor_override;
    int8_t cube_math_type;

    const aclTensor& out() const { return *grad_output.tensor; }
    const aclTensor& in() const { return *grad_input.tensor; }
    bool has_stride() const { return stride.handle != nullptr && !stride.handle->values.empty(); }
};

// One value stands for both directions.
void expand(const aclIntArray& array, int64_t target[2]) {
    target[0] = array.values.front();
    target[1] = array.values.back();
}

kernels::AvgPool2dParams params(const Arguments& a) {
    kernels::AvgPool2dParams p{};
    expand(*a.kernel_size.handle, p.kernel_size);
    expand(a.has_stride() ? *a.stride.handle : *a.kernel_size.handle, p.stride);
    expand(*a.padding.handle, p.padding);
    p.count_include_pad = a.count_include_pad;
    p.divisor_override = a.divisor_override;
    return p;
}

void check_tensors(const Arguments& a) {
    for (const Named& t : {a.grad_output, a.grad_input}) require_dtype(t, kDTypes);
    require_same_dtype(a.grad_output, a.grad_input);
    require_same_dtype(a.self, a.grad_input);
    for (const Named& t : {a.grad_output, a.self, a.grad_input}) {
        if (t.tensor->format != ACL_FORMAT_NCHW && t.tensor->format != ACL_FORMAT_NCL)
            refuse(t.name, "format NCHW or NCL", to_string(t.tensor->format));
        require_rank(t, 3, 4);
    }
    require_same_format(a.self, a.grad_input);
    require_same_rank(a.grad_output, a.self);
    require_same_shape(a.grad_input, a.self);
    require_sound({a.grad_output, a.self, a.grad_input});
    if (a.in().sizes[a.in().rank() - 3] > kMaxChannels)
        refuse(a.self.name, "at most " + std::to_string(kMaxChannels) + " channels", to_string(a.in().sizes));
}

void check_attributes(const Arguments& a) {
    require_length(a.kernel_size, {1, 2});
    require_values(a.kernel_size, 1);
    if (a.has_stride()) {
        require_length(a.stride, {1, 2});
        require_values(a.stride, 1);
    }
    require_length(a.padding, {1, 2});
    require_values(a.padding, 0);
    const kernels::AvgPool2dParams p = params(a);
    for (int d = 0; d < 2; ++d)
        if (p.padding[d] > p.kernel_size[d] / 2)
            refuse(a.padding.name, "at most half of kernelSize " + std::to_string(p.kernel_size[d]), std::to_string(p.padding[d]));
    if (a.divisor_override < -kMaxDivisor || a.divisor_override > kMaxDivisor)
        refuse("divisorOverride", "a value in [-255, 255]", std::to_string(a.divisor_override));
    if (a.cube_math_type < kKeepDtype || a.cube_math_type > kUseHf32)
        refuse("cubeMathType", "a value in 0..3", std::to_string(a.cube_math_type));
    const bool needs_down_cast = !traits_of(config().product).cube_takes_float32 && (a.in().dtype == ACL_FLOAT || config().strict);
    if (needs_down_cast && (a.cube_math_type == kKeepDtype || a.cube_math_type == kUseHf32))
        refuse("cubeMathType", "1 or 2 on " + config().soc_name, std::to_string(a.cube_math_type));
}

// Checked although the document only implies it: a wrong size would make the windows read outside gradOutput.
void check_pooled_shape(const Arguments& a) {
    const uint64_t height = a.in().rank() - 2;
    for (uint64_t d = 0; d < height; ++d) require_dim(a.grad_output, d, a.in().sizes[d]);
    const kernels::AvgPool2dParams p = params(a);
    for (uint64_t d = 0; d < 2; ++d) {
        const int64_t in = a.in().sizes[height + d];
        if (in < 1 || in + 2 * p.padding[d] < kernels::smallest_padded_size(p.kernel_size[d], p.stride[d], a.ceil_mode))
            refuse(a.self.name,
                   "a size that holds a window of " + std::to_string(p.kernel_size[d]) + " in dimension " + std::to_string(height + d),
                   to_string(a.in().sizes));
        const int64_t pooled = kernels::pooled_size(in, p.kernel_size[d], p.stride[d], p.padding[d], a.ceil_mode);
        require_dim(a.grad_output, height + d, pooled);
    }
}

std::unique_ptr<aclOpExecutor> prepare(const Arguments& a) {
    if (config().strict) require_not_null(a.stride.name, a.stride.handle);
    require_arguments({a.grad_output, a.self, a.grad_input}, {a.kernel_size, a.padding});
    require_live(a.stride.name, a.stride.handle);
    require_product("aclnnAvgPool2dBackward");
    check_tensors(a);
    check_attributes(a);
    check_pooled_shape(a);
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.grad_input, {a.grad_output});
    const auto compute = [p = params(a)](const aclOpExecutor& e) {
        kernels::avg_pool2d_backward(view<4>(e.input(0)), view<4>(e.output(0)), p, config().thread_count);
    };
    auto executor = std::make_unique<aclOpExecutor>("aclnnAvgPool2dBackward", std::initializer_list<Named>{a.grad_output, a.self},
                                                    std::initializer_list<Named>{a.grad_input}, compute);
    for (const auto& array : {a.kernel_size, a.stride, a.padding}) executor->watch(array.name, array.handle);
    return executor;
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnAvgPool2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* kernelSize,
                                                   const aclIntArray* stride, const aclIntArray* padding, bool ceilMode,
                                                   bool countIncludePad, int64_t divisorOverride, int8_t cubeMathType, aclTensor* gradInput,
                                                   uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] {
        return prepare({{"gradOutput", gradOutput},
                        {"self", self},
                        {"gradInput", gradInput},
                        {"kernelSize", kernelSize},
                        {"stride", stride},
                        {"padding", padding},
                        ceilMode,
                        countIncludePad,
                        divisorOverride,
                        cubeMathType});
    };
    const auto describe = [&](JsonObject& arguments) {
        describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "kernelSize", kernelSize, "stride", stride, "padding",
                           padding, "ceilMode", ceilMode, "countIncludePad", countIncludePad, "divisorOverride", divisorOverride,
                           "cubeMathType", cubeMathType, "gradInput", gradInput);
    };
    return run_phase1("aclnnAvgPool2dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnAvgPool2dBackward, aclrtStream, "pooling", kDTypes)
