// The gradients of paddings that repeat elements.
#include "contract/operators.h"
#include "engine/opapi/entry.h"
#include "engine/opapi/planes.h"
#include "kernels/separable/operators.h"

namespace torch_aclnn::host {
namespace {

using kernels::Padding;

// There are two numbers for each dimension of the plane, the last dimension first: left, right, top, bottom, front, back.
struct PaddedPlane {
    Named grad_output, self;
    IntArray padding;
    Named grad_input;
    uint64_t dims;

    uint64_t dim_of(uint64_t i) const { return self.tensor->rank() - 1 - i / 2; }
    int64_t size_of(uint64_t i) const { return self.tensor->sizes[dim_of(i)]; }
    const ArrayValues<int64_t>& values() const { return padding.handle->values; }
};

const char* reason_of(bool strict) {
    return strict ? ", as TORCH_ACLNN_HOST_MODE=strict asks" : "";
}

void require_no_crop(const PaddedPlane& p, const char* reason) {
    for (const int64_t value : p.values())
        if (value < 0) refuse(p.padding.name, std::string("values of at least 0") + reason, std::to_string(value));
}

// 161002 unless each padding is less than the size that it extends, or, if `may_be_size`, as large.
void require_within_size(const PaddedPlane& p, bool may_be_size, const char* reason) {
    for (uint64_t i = 0; i < 2 * p.dims; ++i) {
        const int64_t value = p.values()[i], size = p.size_of(i);
        if (value < size || (may_be_size && value == size)) continue;
        refuse(p.padding.name,
               std::string(may_be_size ? "values of at most" : "values below") + " self's size of " + std::to_string(size) +
                   " in dimension " + std::to_string(p.dim_of(i)) + reason,
               std::to_string(value));
    }
}

// Negative values crop, as in PyTorch; only earlier documents exclude them, and a circular padding is not defined for them. A reflection is
// less than the size, because it repeats each element beside the edge once. The documents' limit on other paddings, which PyTorch lacks,
// holds in strict mode.
void require_limits(Padding mode, const PaddedPlane& p) {
    const bool strict = config().strict;
    if (strict || mode == Padding::circular) require_no_crop(p, reason_of(strict && mode != Padding::circular));
    if (mode == Padding::reflection) require_within_size(p, false, "");
    if (mode == Padding::circular) require_within_size(p, true, "");
    if (strict) require_within_size(p, false, reason_of(strict));
}

void check(const Offer& offer, Padding mode, const PaddedPlane& p) {
    check_planes(offer, p.grad_output, p.self, p.grad_input, p.dims);
    for (const Named& t : {p.grad_output, p.grad_input}) require_same_format(t, p.self);
    require_length(p.padding, {2 * p.dims});
    require_values(p.padding, INT32_MIN);
    require_sound({p.grad_output, p.self, p.grad_input});
    for (const Named& t : {p.grad_output, p.self, p.grad_input}) require_no_zero_dim_after_batch(t, p.dims + 2);
    require_same_front(p.grad_output, p.self, p.dims);
    require_limits(mode, p);
    for (uint64_t i = 2 * p.dims; i > 0; i -= 2)
        require_dim(p.grad_output, p.dim_of(i - 1), p.size_of(i - 1) + p.values()[i - 2] + p.values()[i - 1]);
    require_not_empty_if_strict({p.grad_output, p.self});
    require_no_overlap(p.grad_input, {p.grad_output});
}

template <Padding mode, uint64_t dims>
Compute pad(const Offer& offer, Named grad_output, Named self, IntArray padding, Named grad_input) {
    const PaddedPlane p{grad_output, self, padding, grad_input, dims};
    check(offer, mode, p);
    std::array<int64_t, 3> before{};
    for (uint64_t d = 0; d < dims; ++d) before[2 - d] = p.values()[2 * d];
    return [before](const aclOpExecutor& e) {
        const int64_t front_top_left[] = {before[0], before[1], before[2]};
        kernels::pad_backward(mode, view_of_planes(e.input(0), dims), view_of_planes(e.output(0), dims), front_top_left,
                              config().thread_count);
    };
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

#define PADDING(Type, name, dims, aten, kind, dtypes, assumed_dtypes, ...) \
    OPAPI_ENTRY(aclnn##Type##Backward, "vision", OPAPI_OFFER(name, dtypes, assumed_dtypes), (pad<Padding::kind, dims>))
TORCH_ACLNN_PADDINGS(PADDING)
