#include "engine/opapi/padding.h"

#include "engine/opapi/arguments.h"
#include "engine/opapi/products.h"

namespace torch_aclnn::host {
namespace {

// Earlier documents ask for it. PyTorch crops by negative values, and later documents do not exclude them.
void require_no_crop(const PaddingArguments& a) {
    for (const int64_t value : a.padding.handle->values)
        if (value < 0) refuse(a.padding.name, "values of at least 0, as TORCH_ACLNN_HOST_STRICT asks", std::to_string(value));
}

}  // namespace

void require_padding_below_size(const PaddingArguments& a, const std::string& reason) {
    for (uint64_t i = 0; i < 4; ++i) {
        const uint64_t dim = a.self.tensor->rank() - (i < 2 ? 1 : 2);
        const int64_t size = a.self.tensor->sizes[dim], padding = a.padding.handle->values[i];
        if (padding >= size)
            refuse(a.padding.name, "values below self's size of " + std::to_string(size) + " in dimension " + std::to_string(dim) + reason,
                   std::to_string(padding));
    }
}

void check_padding(const char* entry_point, const PaddingArguments& a, void (*require_limits)(const PaddingArguments&)) {
    require_arguments({a.grad_output, a.self, a.grad_input}, {a.padding});
    require_product(entry_point);
    for (const Named& t : {a.grad_output, a.self, a.grad_input}) {
        require_dtype(t, config().strict ? kPaddingDTypes.without(BF16) : kPaddingDTypes);
        require_same_dtype(t, a.self);
        require_same_format(t, a.self);
        require_rank(t, 3, 4);
        require_same_rank(t, a.self);
    }
    require_same_shape(a.grad_input, a.self);
    require_length(a.padding, {4});
    require_values(a.padding, INT32_MIN);
    require_sound({a.grad_output, a.self, a.grad_input});
    for (const Named& t : {a.grad_output, a.self, a.grad_input}) require_no_zero_dim_after_batch(t, 4);
    const uint64_t height = a.self.tensor->rank() - 2;
    const std::vector<int64_t>& pad = a.padding.handle->values;
    for (uint64_t d = 0; d < height; ++d) require_dim(a.grad_output, d, a.self.tensor->sizes[d]);
    if (config().strict) require_no_crop(a);
    require_limits(a);
    require_dim(a.grad_output, height, a.self.tensor->sizes[height] + pad[2] + pad[3]);
    require_dim(a.grad_output, height + 1, a.self.tensor->sizes[height + 1] + pad[0] + pad[1]);
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.grad_input, {a.grad_output});
}

std::unique_ptr<aclOpExecutor> padding_executor(const char* entry_point, const PaddingArguments& a, PaddingKernel* kernel) {
    const int64_t left = a.padding.handle->values[0], top = a.padding.handle->values[2];
    const auto compute = [kernel, left, top](const aclOpExecutor& e) {
        kernel(view<4>(e.input(0)), view<4>(e.output(0)), left, top, config().thread_count);
    };
    auto executor = std::make_unique<aclOpExecutor>(entry_point, std::initializer_list<Named>{a.grad_output, a.self},
                                                    std::initializer_list<Named>{a.grad_input}, compute);
    executor->watch(a.padding.name, a.padding.handle);
    return executor;
}

}  // namespace torch_aclnn::host
