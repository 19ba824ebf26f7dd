// The gradients of max unpooling: each element of the result is one of the gradient's plane, at the place that its index counts.
#include "contract/operators.h"
#include "engine/opapi/entry.h"
#include "engine/opapi/planes.h"
#include "kernels/max_unpool_backward/max_unpool_backward.h"

namespace torch_aclnn::host {
namespace {

struct Unpooling {
    Named grad_output, self, indices;
    IntArray output_size;
    Named out;
    uint64_t dims;
};

void check_tensors(const Offer& offer, const Unpooling& u, DTypes index_types) {
    check_planes(offer, u.grad_output, u.self, u.out, u.dims);
    require_dtype(u.indices, index_types);
    require_same_shape(u.indices, u.self);
    require_sound({u.grad_output, u.self, u.indices, u.out});
    // Refuses a size of 0 in any dimension but the batch. Without a batch the first dimension is C, which may be 0 too.
    for (const Named& t : {u.grad_output, u.self}) require_no_zero_dim_after_batch(t, t.tensor->rank());
}

bool is_contiguous(const aclTensor& tensor) {
    int64_t expected = 1;
    for (uint64_t d = tensor.rank(); d-- > 0; expected *= tensor.sizes[d])
        if (tensor.sizes[d] != 1 && tensor.strides[d] != expected) return false;
    return true;
}

void require_contiguous(const Named& named) {
    if (!named.tensor->empty() && !is_contiguous(*named.tensor))
        refuse(named.name, "contiguous strides", to_string(named.tensor->strides) + " for shape " + to_string(named.tensor->sizes));
}

// Indices count the elements of a plane.
void require_countable_plane(const IntArray& sizes) {
    const Dims plane(sizes.handle->values.data(), sizes.handle->values.size());
    if (!checked_element_count(plane)) refuse(sizes.name, "a plane of fewer than 2^63 elements", to_string(plane));
}

void require_size_of(const Named& named, uint64_t dim, int64_t expected, const std::string& source) {
    if (named.tensor->sizes[dim] != expected)
        refuse(named.name, std::to_string(expected) + " in dimension " + std::to_string(dim) + ", as in " + source,
               to_string(named.tensor->sizes));
}

// The leading sizes must be self's, the others those of outputSize.
void check_gradient_shape(const Unpooling& u) {
    const Dims &sizes = u.self.tensor->sizes, plane(u.output_size.handle->values.data(), u.dims);
    const uint64_t front = sizes.size() - u.dims;
    for (uint64_t d = 0; d < front; ++d) require_size_of(u.grad_output, d, sizes[d], "self " + to_string(sizes));
    require_countable_plane(u.output_size);
    for (uint64_t d = 0; d < u.dims; ++d) require_size_of(u.grad_output, front + d, plane[d], "outputSize " + to_string(plane));
}

// Converts INT32 indices to INT64, which the kernel takes.
class WideIndices {
   public:
    explicit WideIndices(const kernels::View<5>& indices) : view_(indices) {
        if (indices.dtype != kernels::DType::int32) return;
        values_.reserve(static_cast<size_t>(indices.element_count()));
        add(indices, 0, static_cast<const int32_t*>(indices.data));
        view_.data = values_.data();
        view_.dtype = kernels::DType::int64;
        for (int64_t d = 4, stride = 1; d >= 0; stride *= view_.size[d--]) view_.stride[d] = stride;
    }
    const kernels::View<5>& view() const { return view_; }

   private:
    void add(const kernels::View<5>& indices, int d, const int32_t* first) {
        for (int64_t i = 0; i < indices.size[d]; ++i, first += indices.stride[d])
            d == 4 ? values_.push_back(*first) : add(indices, d + 1, first);
    }

    kernels::View<5> view_;
    std::vector<int64_t> values_;
};

template <uint64_t dims>
void unpool(const aclOpExecutor& e) {
    const kernels::View<5> grad_output = view_of_planes(e.input(0), dims);
    const WideIndices indices(view_of_planes(e.input(2), dims));
    const auto bad = kernels::max_unpool_backward(grad_output, indices.view(), view_of_planes(e.output(0), dims), config().thread_count);
    if (!bad) return;
    const int64_t plane_size = grad_output.size[2] * grad_output.size[3] * grad_output.size[4];
    refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "indices", "values in [0, " + std::to_string(plane_size) + ")",
           std::to_string(bad->index) + " at position " + to_string(place_in_planes(e.output(0), dims, bad->position)));
}

void check_sizes(const Unpooling& u) {
    require_length(u.output_size, {u.dims});
    require_values(u.output_size, 1);
    check_gradient_shape(u);
    require_not_empty_if_strict({u.grad_output, u.self});
    require_no_overlap(u.out, {u.grad_output, u.indices});
}

Compute max_unpool2d(const Offer& offer, Named grad_output, Named self, Named indices, IntArray output_size, Named out) {
    const Unpooling u{grad_output, self, indices, output_size, out, 2};
    check_tensors(offer, u, INT64 | INT32);
    check_sizes(u);
    return unpool<2>;
}

Compute max_unpool3d(const Offer& offer, Named grad_output, Named self, Named indices, IntArray output_size, IntArray stride,
                     IntArray padding, Named out) {
    const Unpooling u{grad_output, self, indices, output_size, out, 3};
    check_tensors(offer, u, INT64);
    require_contiguous(out);
    for (const IntArray& array : {output_size, stride, padding}) require_length(array, {3});
    require_values(stride, 1);
    require_values(padding, INT32_MIN);
    check_sizes(u);
    return unpool<3>;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

#define MAX_UNPOOLING(Type, name, dims, aten, kind, dtypes, assumed_dtypes, ...) \
    OPAPI_ENTRY(aclnn##Type##Backward, "vision", OPAPI_OFFER(name, dtypes, assumed_dtypes), max_unpool##dims##d)
TORCH_ACLNN_MAX_UNPOOLINGS(MAX_UNPOOLING)
