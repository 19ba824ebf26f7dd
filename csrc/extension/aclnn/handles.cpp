#include "extension/aclnn/handles.h"

#include <c10/util/Exception.h>

// Exported by torch_npu: the aclFormat of the tensor's storage.
namespace at_npu::native {
int64_t get_npu_format(const at::Tensor& tensor);
}

namespace torch_aclnn {
namespace {

// Strides describe a storage only in the base formats; torch_npu makes others on some products, when it is allowed to.
void check_base_format(const at::Tensor& tensor) {
    const int64_t format = at_npu::native::get_npu_format(tensor);
    const bool is_base = format == -1 || format == 0 || format == 1 || format == 2 || format == 27 || format == 30 || format == 47;
    TORCH_CHECK(is_base, "torch_aclnn: expected a tensor of a base format, got aclFormat ", format,
                "; convert it with torch_npu.npu_format_cast(tensor, 2), or set torch.npu.config.allow_internal_format = False");
}

// aclDataType and aclFormat, by their documented values.
int data_type(at::ScalarType type) {
    switch (type) {
        case at::kFloat: return 0;
        case at::kHalf: return 1;
        case at::kChar: return 2;
        case at::kInt: return 3;
        case at::kByte: return 4;
        case at::kShort: return 6;
        case at::kLong: return 9;
        case at::kDouble: return 11;
        case at::kBool: return 12;
        case at::kComplexFloat: return 16;
        case at::kComplexDouble: return 17;
        case at::kBFloat16: return 27;
        default: TORCH_CHECK(false, "torch_aclnn: no aclDataType corresponds to ", type);
    }
}

int format_of_rank(int64_t rank) {
    constexpr int kNd = 2, kNcl = 47, kNchw = 0, kNcdhw = 30;
    switch (rank) {
        case 3: return kNcl;
        case 4: return kNchw;
        case 5: return kNcdhw;
        default: return kNd;
    }
}

template <class Function>
Function function(const char* name) {
    return reinterpret_cast<Function>(resolve_operator(name));
}

}  // namespace

void HandleDeleter::operator()(const aclTensor* tensor) const {
    static const auto destroy = function<Status (*)(const aclTensor*)>("aclDestroyTensor");
    destroy(tensor);
}

void HandleDeleter::operator()(const aclIntArray* array) const {
    static const auto destroy = function<Status (*)(const aclIntArray*)>("aclDestroyIntArray");
    destroy(array);
}

TensorHandle make_handle(const at::Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    check_base_format(tensor);
    using Create = aclTensor* (*)(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t, void*);
    static const auto create = function<Create>("aclCreateTensor");
    const int64_t storage_elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    TensorHandle handle(create(tensor.sizes().data(), tensor.dim(), data_type(tensor.scalar_type()), tensor.strides().data(),
                               tensor.storage_offset(), format_of_rank(tensor.dim()), &storage_elements, 1,
                               tensor.storage().mutable_data()));
    TORCH_CHECK(handle != nullptr, "torch_aclnn: aclCreateTensor refused a tensor of shape ", tensor.sizes());
    return handle;
}

IntArrayHandle make_handle(at::IntArrayRef values) {
    static const auto create = function<aclIntArray* (*)(const int64_t*, uint64_t)>("aclCreateIntArray");
    IntArrayHandle handle(create(values.data(), values.size()));
    TORCH_CHECK(handle != nullptr, "torch_aclnn: aclCreateIntArray refused ", values);
    return handle;
}

}  // namespace torch_aclnn
