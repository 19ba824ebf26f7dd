#include "engine/opapi/planes.h"

#include "engine/runtime/memory/host_view.h"
#include "kernels/support/plane_dims.h"

namespace torch_aclnn::host {

kernels::View<5> view_of_planes(const aclTensor& tensor, uint64_t plane_dims) {
    kernels::View<5> view{host_view(tensor.first_element()), kernel_dtype(tensor.dtype), {1, 1, 1, 1, 1}, {}};
    for (uint64_t d = 0; d < tensor.rank(); ++d) {
        const int64_t place = kernels::place_among_five(d, tensor.rank(), plane_dims);
        view.size[place] = tensor.sizes[d];
        view.stride[place] = tensor.strides[d];
    }
    return view;
}

Dims place_in_planes(const aclTensor& tensor, uint64_t plane_dims, const int64_t (&position)[5]) {
    Dims found = tensor.sizes;
    for (uint64_t d = 0; d < tensor.rank(); ++d) found[d] = position[kernels::place_among_five(d, tensor.rank(), plane_dims)];
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

}  // namespace torch_aclnn::host
