// Read access to the handles. Arrays are new copies that the caller frees with delete[].

#include <functional>

#include "engine/opapi/checks.h"
#include "engine/opapi/handles.h"

namespace torch_aclnn::host {

static aclnnStatus get_dims(const char* function, const aclTensor* tensor, Dims aclTensor::* dims, const char* values_name,
                            int64_t** values, const char* count_name, uint64_t* count) noexcept {
    return aclnn_guarded(function, [&] {
        require_handle("tensor", tensor);
        require_not_null(values_name, values);
        require_not_null(count_name, count);
        const Dims& source = tensor->*dims;
        *values = new int64_t[source.size()];
        std::copy(source.begin(), source.end(), *values);
        *count = source.size();
    });
}

static aclnnStatus get_value(const char* function, const char* name, const auto* handle, const char* result_name, auto* result,
                             auto read) noexcept {
    return aclnn_guarded(function, [&] {
        require_handle(name, handle);
        require_not_null(result_name, result);
        *result = std::invoke(read, *handle);
    });
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return get_dims(__func__, tensor, &aclTensor::sizes, "viewDims", viewDims, "viewDimsNum", viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return get_dims(__func__, tensor, &aclTensor::storage_sizes, "storageDims", storageDims, "storageDimsNum", storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return get_dims(__func__, tensor, &aclTensor::strides, "stridesValue", stridesValue, "stridesNum", stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return get_value(__func__, "tensor", tensor, "offset", offset, &aclTensor::offset);
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return get_value(__func__, "tensor", tensor, "format", format, &aclTensor::format);
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return get_value(__func__, "tensor", tensor, "dataType", dataType, &aclTensor::dtype);
}

#define DEFINE_SIZE(Name, parameter, values)                                                                                       \
    aclnnStatus aclGet##Name##Size(const acl##Name* parameter, uint64_t* size) {                                                   \
        return get_value(__func__, #parameter, parameter, "size", size, [](const acl##Name& many) { return many.values.size(); }); \
    }
DEFINE_SIZE(IntArray, array, values)
DEFINE_SIZE(FloatArray, array, values)
DEFINE_SIZE(BoolArray, array, values)
DEFINE_SIZE(TensorList, tensorList, members)
DEFINE_SIZE(ScalarList, scalarList, members)

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
    return get_value(__func__, "tensor", tensor, "addr", addr, &aclTensor::data);
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    return aclnn_guarded(__func__, [&] {
        require_handle("tensor", tensor);
        require_not_null("addr", addr);
        tensor->data = addr;
    });
}
