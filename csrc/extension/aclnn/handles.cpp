#include "extension/aclnn/handles.h"

#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include <typeinfo>

#include "include/aclnn/acl_meta.h"

// torch_npu exports these: the aclFormat of the tensor's storage, and a copy in another format.
namespace at_npu::native {
int64_t get_npu_format(const at::Tensor& tensor);
at::Tensor npu_format_cast(const at::Tensor& tensor, int64_t format);
}  // namespace at_npu::native

namespace torch_aclnn {

// A storage that torch_npu has not made, such as one of at::from_blob, has no format.
static int64_t format_of(const at::Tensor& tensor) {
    const bool is_foreign = typeid(*tensor.storage().unsafeGetStorageImpl()) == typeid(c10::StorageImpl);
    return is_foreign ? int64_t{ACL_FORMAT_ND} : at_npu::native::get_npu_format(tensor);
}

// Strides describe a storage only in the base formats, which are those that torch_npu counts as such. It makes others on some products,
// where it is allowed to.
static bool is_base_format(int64_t format) {
    switch (format) {
        case ACL_FORMAT_NCHW:
        case ACL_FORMAT_NHWC:
        case ACL_FORMAT_ND:
        case ACL_FORMAT_NCDHW: return true;
        default: return false;
    }
}

static aclDataType data_type(at::ScalarType type) {
    switch (type) {
        case at::kFloat: return ACL_FLOAT;
        case at::kHalf: return ACL_FLOAT16;
        case at::kChar: return ACL_INT8;
        case at::kInt: return ACL_INT32;
        case at::kByte: return ACL_UINT8;
        case at::kShort: return ACL_INT16;
        case at::kLong: return ACL_INT64;
        case at::kDouble: return ACL_DOUBLE;
        case at::kBool: return ACL_BOOL;
        case at::kComplexFloat: return ACL_COMPLEX64;
        case at::kComplexDouble: return ACL_COMPLEX128;
        case at::kBFloat16: return ACL_BF16;
        default: TORCH_CHECK(false, "torch_aclnn: no aclDataType corresponds to ", type);
    }
}

// Returns the format by which torch_npu describes a tensor of that many dimensions.
static aclFormat format_of_rank(int64_t rank) {
    switch (rank) {
        case 3: return ACL_FORMAT_NCL;
        case 4: return ACL_FORMAT_NCHW;
        case 5: return ACL_FORMAT_NCDHW;
        default: return ACL_FORMAT_ND;
    }
}

void HandleDeleter::operator()(aclTensor* tensor) const {
    static auto* const destroy = resolved<decltype(aclDestroyTensor)>("aclDestroyTensor");
    destroy(tensor);
}

void HandleDeleter::operator()(aclIntArray* array) const {
    static auto* const destroy = resolved<decltype(aclDestroyIntArray)>("aclDestroyIntArray");
    destroy(array);
}

void HandleDeleter::operator()(aclScalar* scalar) const {
    static auto* const destroy = resolved<decltype(aclDestroyScalar)>("aclDestroyScalar");
    destroy(scalar);
}

bool is_in_private_format(const at::Tensor& tensor) {
    return tensor.defined() && !is_base_format(format_of(tensor));
}

at::Tensor in_base_format(const at::Tensor& tensor) {
    return is_in_private_format(tensor) ? at_npu::native::npu_format_cast(tensor, ACL_FORMAT_ND) : tensor;
}

void check_base_format(const char* name, const at::Tensor& result) {
    const int64_t format = format_of(result);
    TORCH_CHECK(is_base_format(format), "torch_aclnn: ", name, ": expected a tensor of a base format, got aclFormat ", format,
                "; convert it with torch_npu.npu_format_cast(tensor, 2), or set torch.npu.config.allow_internal_format = False");
}

TensorHandle make_handle(const at::Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    static auto* const create = resolved<decltype(aclCreateTensor)>("aclCreateTensor");
    const int64_t storage_elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    TensorHandle handle(create(tensor.sizes().data(), tensor.dim(), data_type(tensor.scalar_type()), tensor.strides().data(),
                               tensor.storage_offset(), format_of_rank(tensor.dim()), &storage_elements, 1,
                               tensor.storage().mutable_data()));
    TORCH_CHECK(handle != nullptr, "torch_aclnn: aclCreateTensor refused a tensor of shape ", tensor.sizes());
    return handle;
}

IntArrayHandle make_handle(at::IntArrayRef values) {
    static auto* const create = resolved<decltype(aclCreateIntArray)>("aclCreateIntArray");
    IntArrayHandle handle(create(values.data(), values.size()));
    TORCH_CHECK(handle != nullptr, "torch_aclnn: aclCreateIntArray refused ", values);
    return handle;
}

ScalarHandle make_handle(Scalar scalar) {
    static auto* const create = resolved<decltype(aclCreateScalar)>("aclCreateScalar");
    ScalarHandle handle(create(&scalar.value, ACL_DOUBLE));
    TORCH_CHECK(handle != nullptr, "torch_aclnn: aclCreateScalar refused ", scalar.value);
    return handle;
}

}  // namespace torch_aclnn
