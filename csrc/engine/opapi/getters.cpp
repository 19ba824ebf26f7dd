// Read access to the handles. Arrays are new copies that the caller frees with delete[].
#include <algorithm>

#include "engine/opapi/checks.h"
#include "engine/opapi/fallback_codes.h"

namespace torch_aclnn::host {
namespace {

// A handle or the place for a result, under its documented name.
template <class T>
struct Parameter {
    const char* name;
    T* pointer;
};

aclnnStatus get_dims(const char* function, const aclTensor* tensor, Dims aclTensor::* dims, const Parameter<int64_t*>& values,
                     const Parameter<uint64_t>& count) noexcept {
    return guarded(
        function,
        [&] {
            require_handle("tensor", tensor);
            require_not_null(values.name, values.pointer);
            require_not_null(count.name, count.pointer);
            const Dims& source = tensor->*dims;
            *values.pointer = new int64_t[source.size()];
            std::copy(source.begin(), source.end(), *values.pointer);
            *count.pointer = source.size();
        },
        kAclnnCodes);
}

template <class Handle, class Result, class Read>
aclnnStatus get_value(const char* function, const Parameter<const Handle>& handle, const Parameter<Result>& result, Read&& read) noexcept {
    return guarded(
        function,
        [&] {
            require_handle(handle.name, handle.pointer);
            require_not_null(result.name, result.pointer);
            *result.pointer = read(*handle.pointer);
        },
        kAclnnCodes);
}

template <class Handle>
aclnnStatus get_array_size(const char* function, const Handle* array, uint64_t* size) noexcept {
    return get_value(function, Parameter<const Handle>{"array", array}, Parameter<uint64_t>{"size", size},
                     [](const Handle& a) { return a.values.size(); });
}

template <class Handle>
aclnnStatus get_list_size(const char* function, const char* name, const Handle* list, uint64_t* size) noexcept {
    return get_value(function, Parameter<const Handle>{name, list}, Parameter<uint64_t>{"size", size},
                     [](const Handle& l) { return l.members.size(); });
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return get_dims(__func__, tensor, &aclTensor::sizes, {"viewDims", viewDims}, {"viewDimsNum", viewDimsNum});
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return get_dims(__func__, tensor, &aclTensor::storage_sizes, {"storageDims", storageDims}, {"storageDimsNum", storageDimsNum});
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return get_dims(__func__, tensor, &aclTensor::strides, {"stridesValue", stridesValue}, {"stridesNum", stridesNum});
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return get_value(__func__, Parameter<const aclTensor>{"tensor", tensor}, Parameter<int64_t>{"offset", offset},
                     [](const aclTensor& t) { return t.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return get_value(__func__, Parameter<const aclTensor>{"tensor", tensor}, Parameter<aclFormat>{"format", format},
                     [](const aclTensor& t) { return t.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return get_value(__func__, Parameter<const aclTensor>{"tensor", tensor}, Parameter<aclDataType>{"dataType", dataType},
                     [](const aclTensor& t) { return t.dtype; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return get_array_size(__func__, array, size);
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return get_array_size(__func__, array, size);
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return get_array_size(__func__, array, size);
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return get_list_size(__func__, "tensorList", tensorList, size);
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return get_list_size(__func__, "scalarList", scalarList, size);
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
    return get_value(__func__, Parameter<const aclTensor>{"tensor", tensor}, Parameter<void*>{"addr", addr},
                     [](const aclTensor& handle) { return handle.data; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    return guarded(
        __func__,
        [&] {
            require_handle("tensor", tensor);
            require_not_null("addr", addr);
            tensor->data = addr;
        },
        kAclnnCodes);
}
