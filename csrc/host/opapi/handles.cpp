#include "host/opapi/handles.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "host/opapi/format.h"

namespace torch_aclnn::host {

std::string to_string(const Dims& dims) {
    std::string text = "{";
    for (int64_t d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + "}";
}

std::string to_string(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT: return "FLOAT";
        case ACL_FLOAT16: return "FLOAT16";
        case ACL_INT8: return "INT8";
        case ACL_INT32: return "INT32";
        case ACL_UINT8: return "UINT8";
        case ACL_INT16: return "INT16";
        case ACL_UINT16: return "UINT16";
        case ACL_UINT32: return "UINT32";
        case ACL_INT64: return "INT64";
        case ACL_UINT64: return "UINT64";
        case ACL_DOUBLE: return "DOUBLE";
        case ACL_BOOL: return "BOOL";
        case ACL_COMPLEX64: return "COMPLEX64";
        case ACL_COMPLEX128: return "COMPLEX128";
        case ACL_BF16: return "BF16";
        default: return "aclDataType(" + std::to_string(static_cast<int>(dtype)) + ")";
    }
}

std::string to_string(aclFormat format) {
    switch (format) {
        case ACL_FORMAT_UNDEFINED: return "UNDEFINED";
        case ACL_FORMAT_NCHW: return "NCHW";
        case ACL_FORMAT_NHWC: return "NHWC";
        case ACL_FORMAT_ND: return "ND";
        case ACL_FORMAT_NC1HWC0: return "NC1HWC0";
        case ACL_FORMAT_NDHWC: return "NDHWC";
        case ACL_FORMAT_FRACTAL_NZ: return "FRACTAL_NZ";
        case ACL_FORMAT_NCDHW: return "NCDHW";
        case ACL_FORMAT_NDC1HWC0: return "NDC1HWC0";
        case ACL_FORMAT_NCL: return "NCL";
        default: return "aclFormat(" + std::to_string(static_cast<int>(format)) + ")";
    }
}

bool is_public(aclFormat format) {
    switch (format) {
        case ACL_FORMAT_UNDEFINED:
        case ACL_FORMAT_NCHW:
        case ACL_FORMAT_NHWC:
        case ACL_FORMAT_ND:
        case ACL_FORMAT_NDHWC:
        case ACL_FORMAT_NCDHW:
        case ACL_FORMAT_NCL: return true;
        default: return false;
    }
}

int64_t element_count(const Dims& dims) {
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    return count;
}

namespace {

// Handles are made without a status, so a failure is a null handle and a sentence.
template <class Handle, class Fill>
Handle* create(const char* function, Fill&& fill) noexcept {
    try {
        std::unique_ptr<Handle> handle(new Handle);  // make_unique would write zeros into all of it
        return fill(*handle) ? handle.release() : nullptr;
    } catch (const std::exception&) {  // bad_alloc, or length_error for a size beyond any memory
        fail(ACL_ERROR_BAD_ALLOC, std::string(function) + ": out of host memory");
        return nullptr;
    }
}

bool refuse(const char* function, const std::string& reason) {
    fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + reason);
    return false;
}

template <class Value>
bool fill_array(std::vector<Value>& target, const char* function, const void* source, uint64_t size) {
    if (source == nullptr && size > 0) return refuse(function, "value: expected an array of " + std::to_string(size) + ", got null");
    target.resize(size);
    if (size > 0) std::memcpy(target.data(), source, size * sizeof(Value));
    return true;
}

template <class Handle>
bool fill_list(std::vector<std::unique_ptr<Handle>>& members, const char* function, const Handle* const* source, uint64_t size) {
    if (source == nullptr && size > 0) return refuse(function, "value: expected a list of " + std::to_string(size) + ", got null");
    members.reserve(size);
    for (uint64_t i = 0; i < size; ++i) members.emplace_back(const_cast<Handle*>(source[i]));
    return true;
}

void set_contiguous(Dims& strides, const Dims& sizes) {
    strides = sizes;
    int64_t stride = 1;
    for (uint64_t i = sizes.size(); i-- > 0; stride *= std::max<int64_t>(sizes[i], 1)) strides[i] = stride;
}

template <class Handle>
aclnnStatus destroy(const Handle* handle) noexcept {
    delete handle;
    return ACLNN_SUCCESS;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* strides, int64_t offset,
                           aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum, void* data) {
    const char* function = "aclCreateTensor";
    return create<aclTensor>(function, [&](aclTensor& tensor) {
        if (viewDimsNum > kMaxRank || storageDimsNum > kMaxRank)
            return refuse(function, "viewDimsNum and storageDimsNum: expected at most " + std::to_string(kMaxRank) + ", got " +
                                        std::to_string(viewDimsNum) + " and " + std::to_string(storageDimsNum));
        if ((viewDims == nullptr && viewDimsNum > 0) || (storageDims == nullptr && storageDimsNum > 0))
            return refuse(function, "viewDims and storageDims: expected an array where the number is not 0, got null");
        tensor.sizes = Dims(viewDims, viewDimsNum);
        tensor.storage_sizes = Dims(storageDims, storageDimsNum);
        if (strides != nullptr)
            tensor.strides = Dims(strides, viewDimsNum);
        else
            set_contiguous(tensor.strides, tensor.sizes);
        tensor.offset = offset;
        tensor.dtype = dataType;
        tensor.format = format;
        tensor.data = data;
        return true;
    });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    const char* function = "aclCreateScalar";
    return create<aclScalar>(function, [&](aclScalar& scalar) {
        if (value == nullptr) return refuse(function, "value: expected a pointer to the number, got null");
        const size_t size = aclDataTypeSize(dataType);
        if (size == 0) return refuse(function, "dataType: expected a type with a size, got " + to_string(dataType));
        scalar.dtype = dataType;
        std::memcpy(scalar.bytes.data(), value, size);
        return true;
    });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return create<aclIntArray>("aclCreateIntArray", [&](aclIntArray& a) { return fill_array(a.values, "aclCreateIntArray", value, size); });
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return create<aclFloatArray>("aclCreateFloatArray",
                                 [&](aclFloatArray& a) { return fill_array(a.values, "aclCreateFloatArray", value, size); });
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return create<aclBoolArray>("aclCreateBoolArray",
                                [&](aclBoolArray& a) { return fill_array(a.values, "aclCreateBoolArray", value, size); });
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    return create<aclTensorList>("aclCreateTensorList",
                                 [&](aclTensorList& l) { return fill_list(l.members, "aclCreateTensorList", value, size); });
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    return create<aclScalarList>("aclCreateScalarList",
                                 [&](aclScalarList& l) { return fill_list(l.members, "aclCreateScalarList", value, size); });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
    return destroy(tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return destroy(scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
    return destroy(array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
    return destroy(array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
    return destroy(array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    return destroy(array);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    return destroy(array);
}
