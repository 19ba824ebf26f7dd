// The gradient of batch normalisation by statistics that are given.
#include "contract/operators.h"
#include "engine/opapi/entry.h"
#include "kernels/batch_norm_elemt_backward/batch_norm_elemt_backward.h"

namespace torch_aclnn::host {

static kernels::View<8> channel_view(const aclTensor& tensor) {
    return kernels::channels_second(view<8>(tensor), static_cast<int64_t>(tensor.rank()));
}

static void normalise_backward(const aclOpExecutor& e) {
    const kernels::BatchNormChannels channels{view<1>(e.input(2)), view<1>(e.input(3)),
                                              e.has_input(4) ? view<1>(e.input(4)) : kernels::kNoWeight, view<1>(e.input(5)),
                                              view<1>(e.input(6))};
    const double n = kernels::sum_elements(view<8>(e.input(7)));
    kernels::batch_norm_elemt_backward(channel_view(e.input(0)), channel_view(e.input(1)), channels, n, channel_view(e.output(0)),
                                       config().thread_count);
}

static Compute batch_norm_elemt(const Offer& offer, Named grad_out, Named input, Named mean, Named invstd, Named weight, Named sum_dy,
                                Named sum_dy_xmu, Named counter, Named grad_input) {
    for (const Named& t : {grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, grad_input})
        if (t.tensor != nullptr) require_dtype(t, accepted_dtypes(offer));
    require_dtype(counter, FLOAT | FLOAT16 | INT32);

    require_rank(input, 2, 8);
    for (const Named& t : {grad_out, grad_input}) require_same_shape(t, input);
    const int64_t channels = input.tensor->sizes[1];
    if (channels == 0) refuse(input.name, "at least one channel in dimension 1", to_string(input.tensor->sizes));
    for (const Named& t : {mean, invstd, weight, sum_dy, sum_dy_xmu}) {
        if (t.tensor == nullptr) continue;
        require_rank(t, 1, 1);
        require_dim(t, 0, channels);
    }
    require_rank(counter, 0, 8);
    const Named& scale = weight.tensor != nullptr ? weight : mean;
    require_sound({grad_out, input, mean, invstd, scale, sum_dy, sum_dy_xmu, counter, grad_input});
    if (counter.tensor->numel() < 1) refuse(counter.name, "at least one element", to_string(counter.tensor->sizes));
    require_no_overlap(grad_input, {grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, counter});
    return normalise_backward;
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

#define BATCH_NORM(Type, name, dims, aten, kind, dtypes, assumed_dtypes, ...) \
    OPAPI_ENTRY(aclnn##Type##Backward, "normalization", OPAPI_OFFER(name, dtypes, assumed_dtypes), batch_norm_elemt)
TORCH_ACLNN_BATCH_NORMS(BATCH_NORM)
