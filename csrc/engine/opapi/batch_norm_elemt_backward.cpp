#include "kernels/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

#include "aclnnop/aclnn_batch_norm_elemt_backward.h"
#include "engine/opapi/checks.h"
#include "engine/opapi/products.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOATING;

struct Arguments {
    Named grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, counter, grad_input;
};

void check(const Arguments& a) {
    if (config().strict) require_not_null(a.weight.name, a.weight.tensor);
    require_handles({a.grad_out, a.input, a.mean, a.invstd, a.sum_dy, a.sum_dy_xmu, a.counter, a.grad_input});
    require_live(a.weight.name, a.weight.tensor);
    require_product("aclnnBatchNormElemtBackward");
    for (const Named& t : {a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu, a.grad_input})
        if (t.tensor != nullptr) require_dtype(t, kDTypes);
    require_dtype(a.counter, FLOAT | FLOAT16 | INT32);

    require_rank(a.input, 2, 8);
    for (const Named& t : {a.grad_out, a.grad_input}) require_same_shape(t, a.input);
    const int64_t channels = a.input.tensor->sizes[1];
    if (channels == 0) refuse(a.input.name, "at least one channel in dimension 1", to_string(a.input.tensor->sizes));
    for (const Named& t : {a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu}) {
        if (t.tensor == nullptr) continue;
        require_rank(t, 1, 1);
        require_dim(t, 0, channels);
    }
    require_rank(a.counter, 0, 8);
    const Named& scale = a.weight.tensor != nullptr ? a.weight : a.mean;
    require_sound({a.grad_out, a.input, a.mean, a.invstd, scale, a.sum_dy, a.sum_dy_xmu, a.counter, a.grad_input});
    if (a.counter.tensor->numel() < 1) refuse(a.counter.name, "at least one element", to_string(a.counter.tensor->sizes));
    require_not_empty_if_strict({a.grad_out, a.input});
    require_no_overlap(a.grad_input, {a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu, a.counter});
}

kernels::View<8> channel_view(const aclTensor& tensor) {
    return kernels::channels_second(view<8>(tensor), static_cast<int64_t>(tensor.rank()));
}

void compute(const aclOpExecutor& e) {
    const kernels::BatchNormChannels channels{view<1>(e.input(2)), view<1>(e.input(3)),
                                              e.has_input(4) ? view<1>(e.input(4)) : kernels::kNoWeight, view<1>(e.input(5)),
                                              view<1>(e.input(6))};
    const double n = kernels::sum_elements(view<8>(e.input(7)));
    kernels::batch_norm_elemt_backward(channel_view(e.input(0)), channel_view(e.input(1)), channels, n, channel_view(e.output(0)),
                                       config().thread_count);
}

std::unique_ptr<aclOpExecutor> prepare(const Arguments& a) {
    check(a);
    return std::make_unique<aclOpExecutor>(
        "aclnnBatchNormElemtBackward",
        std::initializer_list<Named>{a.grad_out, a.input, a.mean, a.invstd, a.weight, a.sum_dy, a.sum_dy_xmu, a.counter},
        std::initializer_list<Named>{a.grad_input}, compute);
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnBatchNormElemtBackwardGetWorkspaceSize(const aclTensor* gradOut, const aclTensor* input, const aclTensor* mean,
                                                        const aclTensor* invstd, const aclTensor* weight, const aclTensor* sumDy,
                                                        const aclTensor* sumDyXmu, aclTensor* counter, aclTensor* gradInput,
                                                        uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] {
        return prepare({{"gradOut", gradOut},
                        {"input", input},
                        {"mean", mean},
                        {"invstd", invstd},
                        {"weight", weight},
                        {"sumDy", sumDy},
                        {"sumDyXmu", sumDyXmu},
                        {"counter", counter},
                        {"gradInput", gradInput}});
    };
    const auto describe = [&](JsonObject& arguments) {
        describe_arguments(arguments, "gradOut", gradOut, "input", input, "mean", mean, "invstd", invstd, "weight", weight, "sumDy", sumDy,
                           "sumDyXmu", sumDyXmu, "counter", counter, "gradInput", gradInput);
    };
    return run_phase1("aclnnBatchNormElemtBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnBatchNormElemtBackward, const aclrtStream, "normalisation", kDTypes)
