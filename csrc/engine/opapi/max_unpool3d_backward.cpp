#include "kernels/max_unpool3d_backward/max_unpool3d_backward.h"

#include "aclnnop/aclnn_max_unpool3d_backward.h"
#include "engine/opapi/arguments.h"
#include "engine/opapi/products.h"

namespace torch_aclnn::host {
namespace {

constexpr DTypes kDTypes = FLOAT | FLOAT16 | DOUBLE | INTEGRAL;

struct Arguments {
    Named grad_output, self, indices, out;
    NamedPointer<aclIntArray> output_size, stride, padding;
};

bool is_contiguous(const aclTensor& tensor) {
    int64_t expected = 1;
    for (uint64_t d = tensor.rank(); d-- > 0; expected *= tensor.sizes[d])
        if (tensor.sizes[d] != 1 && tensor.strides[d] != expected) return false;
    return true;
}

void check_tensors(const Arguments& a) {
    for (const Named& t : {a.grad_output, a.self, a.out}) {
        require_dtype(t, kDTypes);
        require_same_dtype(t, a.self);
    }
    require_dtype(a.indices, INT64);
    for (const Named& t : {a.grad_output, a.self, a.indices, a.out}) {
        require_rank(t, 4, 5);
        require_same_rank(t, a.self);
    }
    for (const Named& t : {a.indices, a.out}) require_same_shape(t, a.self);
    require_sound({a.grad_output, a.self, a.indices, a.out});
    for (const Named& t : {a.grad_output, a.self}) require_no_zero_dim_after_batch(t, t.tensor->rank());  // NDHW has an N too
    if (a.out.tensor->numel() > 0 && !is_contiguous(*a.out.tensor))
        refuse(a.out.name, "contiguous strides", to_string(a.out.tensor->strides) + " for shape " + to_string(a.out.tensor->sizes));
}

// Indices count the elements of a plane.
void require_countable_plane(const NamedPointer<aclIntArray>& sizes) {
    const Dims plane(sizes.handle->values.data(), sizes.handle->values.size());
    if (!checked_element_count(plane)) refuse(sizes.name, "a plane of fewer than 2^63 elements", to_string(plane));
}

void require_size_of(const Named& named, uint64_t dim, int64_t expected, const std::string& source) {
    if (named.tensor->sizes[dim] != expected)
        refuse(named.name, std::to_string(expected) + " in dimension " + std::to_string(dim) + ", as in " + source,
               to_string(named.tensor->sizes));
}

// The leading sizes are self's, the last three those of outputSize.
void check_gradient_shape(const Arguments& a) {
    const Dims &sizes = a.self.tensor->sizes, plane(a.output_size.handle->values.data(), 3);
    const uint64_t depth = a.self.tensor->rank() - 3;
    for (uint64_t d = 0; d < depth; ++d) require_size_of(a.grad_output, d, sizes[d], "self " + to_string(sizes));
    require_countable_plane(a.output_size);
    for (uint64_t d = 0; d < 3; ++d) require_size_of(a.grad_output, depth + d, plane[d], "outputSize " + to_string(plane));
}

void check(const Arguments& a) {
    require_arguments({a.grad_output, a.self, a.indices, a.out}, {a.output_size, a.stride, a.padding});
    require_product("aclnnMaxUnpool3dBackward");
    check_tensors(a);
    for (const auto& array : {a.output_size, a.stride, a.padding}) require_length(array, {3});
    for (const auto& array : {a.output_size, a.stride}) require_values(array, 1);
    require_values(a.padding, INT32_MIN);
    check_gradient_shape(a);
    require_not_empty_if_strict({a.grad_output, a.self});
    require_no_overlap(a.out, {a.grad_output, a.indices});
}

void compute(const aclOpExecutor& e) {
    const kernels::View<5> grad_output = view<5>(e.input(0));
    const auto bad = kernels::max_unpool3d_backward(grad_output, view<5>(e.input(2)), view<5>(e.output(0)), config().thread_count);
    if (!bad) return;
    const uint64_t rank = e.output(0).rank();
    const int64_t plane_size = grad_output.size[2] * grad_output.size[3] * grad_output.size[4];
    refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "indices", "values in [0, " + std::to_string(plane_size) + ")",
           std::to_string(bad->index) + " at position " + to_string(Dims(bad->position + 5 - rank, rank)));
}

std::unique_ptr<aclOpExecutor> prepare(const Arguments& a) {
    check(a);
    auto executor =
        std::make_unique<aclOpExecutor>("aclnnMaxUnpool3dBackward", std::initializer_list<Named>{a.grad_output, a.self, a.indices},
                                        std::initializer_list<Named>{a.out}, compute);
    for (const auto& array : {a.output_size, a.stride, a.padding}) executor->watch(array.name, array.handle);
    return executor;
}

}  // namespace
}  // namespace torch_aclnn::host

aclnnStatus aclnnMaxUnpool3dBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices,
                                                     const aclIntArray* outputSize, const aclIntArray* stride, const aclIntArray* padding,
                                                     aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
    using namespace torch_aclnn::host;
    const auto check = [&] {
        return prepare({{"gradOutput", gradOutput},
                        {"self", self},
                        {"indices", indices},
                        {"out", out},
                        {"outputSize", outputSize},
                        {"stride", stride},
                        {"padding", padding}});
    };
    const auto describe = [&](JsonObject& arguments) {
        describe_arguments(arguments, "gradOutput", gradOutput, "self", self, "indices", indices, "outputSize", outputSize, "stride",
                           stride, "padding", padding, "out", out);
    };
    return run_phase1("aclnnMaxUnpool3dBackward", workspaceSize, executor, check, describe);
}

TORCH_ACLNN_PHASE2(aclnnMaxUnpool3dBackward, aclrtStream, "pooling", kDTypes)
