#include "engine/opapi/planes.h"

#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {
namespace {

constexpr uint64_t kRank = 5, kFront = 2;

// Where in the view a dimension of the tensor is.
uint64_t place_of(uint64_t dim, uint64_t rank, uint64_t plane_dims) {
    const uint64_t front = rank - plane_dims;
    return dim < front ? kFront - front + dim : kRank - rank + dim;
}

}  // namespace

kernels::View<5> view_of_planes(const aclTensor& tensor, uint64_t plane_dims) {
    kernels::View<5> view{host_view(tensor.first_element()), kernel_dtype(tensor.dtype), {1, 1, 1, 1, 1}, {}};
    for (uint64_t d = 0; d < tensor.rank(); ++d) {
        const uint64_t place = place_of(d, tensor.rank(), plane_dims);
        view.size[place] = tensor.sizes[d];
        view.stride[place] = tensor.strides[d];
    }
    return view;
}

Dims place_in_planes(const aclTensor& tensor, uint64_t plane_dims, const int64_t (&position)[5]) {
    Dims found = tensor.sizes;
    for (uint64_t d = 0; d < tensor.rank(); ++d) found[d] = position[place_of(d, tensor.rank(), plane_dims)];
    return found;
}

void check_planes(const Offer& offer, const Named& grad_output, const Named& self, const Named& result, uint64_t plane_dims) {
    for (const Named& t : {grad_output, self, result}) {
        require_dtype(t, accepted_dtypes(offer));
        require_rank(t, plane_dims + 1, plane_dims + 2);
    }
    for (const Named& t : {grad_output, result}) {
        require_same_dtype(t, self);
        require_same_rank(t, self);
    }
    require_same_shape(result, self);
}

void require_same_front(const Named& tensor, const Named& reference, uint64_t plane_dims) {
    const Dims& sizes = reference.tensor->sizes;
    for (uint64_t d = 0; d < sizes.size() - plane_dims; ++d) require_dim(tensor, d, sizes[d]);
}

void expand(const std::vector<int64_t>& values, uint64_t plane_dims, int64_t (&target)[3]) {
    for (uint64_t d = 0; d < plane_dims; ++d) target[3 - plane_dims + d] = values[values.size() == 1 ? 0 : d];
}

}  // namespace torch_aclnn::host
