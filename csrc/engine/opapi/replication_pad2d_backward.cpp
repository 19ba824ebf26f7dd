#include "kernels/replication_pad2d_backward/replication_pad2d_backward.h"

#include "aclnnop/aclnn_pad2d_backward.h"
#include "engine/opapi/checks.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING | DOUBLE | COMPLEX;

struct Arguments {
    Named grad_output, self, grad_input;
    NamedPointer<aclIntArray> padding;
};

// The document's limit, which PyTorch does not have.
void require_padding_below_size(const Arguments& a, uint64_t i) {
    const uint64_t dim = a.self.tensor->rank() - (i < 2 ? 1 : 2);
    const int64_t size = a.self.tensor->sizes[dim], padding = a.padding.handle->values[i];
    if (padding >= size)
        refuse(a.padding.name,
               "values below self's size of " + std::to_string(size) + " in dimension " + std::to_string(dim) +
                   ", as TORCH_ACLNN_HOST_STRICT asks",
               std::to_string(padding));
}

void check(const Arguments& a) {
    require_handles({a.grad_output, a.self, a.grad_input});
    require_handle(a.padding.name, a.padding.handle);
    for (const Named& t : {a.grad_output, a.self, a.grad_input}) {
        require_dtype(t, without_later_if_strict(kDTypes, BF16));
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
    for (uint64_t i = 0; config().strict && i < 4; ++i) require_padding_below_size(a, i);
    require_dim(a.grad_output, height, a.self.tensor->sizes[height] + pad[2] + pad[3]);
    require_dim(a.grad_output, height + 1, a.self.tensor->sizes[height + 1] + pad[0] + pad[1]);
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.grad_input, {a.grad_output});
}

std::unique_ptr<aclOpExecutor> prepare(const Arguments& a) {
    check(a);
    const int64_t left = a.padding.handle->values[0], top = a.padding.handle->values[2];
    const auto compute = [left, top](const aclOpExecutor& e) {
        kernels::replication_pad2d_backward(view<4>(e.input(0)), view<4>(e.output(0)), left, top, config().thread_count);
    };
    auto executor = std::make_unique<aclOpExecutor>("aclnnReplicationPad2dBackward", std::initializer_list{a.grad_output, a.self},
                                                    std::initializer_list{a.grad_input}, compute);
    executor->watch(a.padding.name, a.padding.handle);
    return executor;
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* padding,
                                                          aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    return run_phase1("aclnnReplicationPad2dBackward", workspaceSize, executor, [&] {
        return prepare({{"gradOutput", gradOutput}, {"self", self}, {"gradInput", gradInput}, {"padding", padding}});
    });
}

TORCH_ACLNN_PHASE2(aclnnReplicationPad2dBackward, const aclrtStream, "padding", kDTypes)
