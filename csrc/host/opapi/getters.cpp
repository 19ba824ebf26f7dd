// Read access to the handles. Arrays are new copies that the caller frees with delete[].
#include <algorithm>
#include <new>

#include "host/opapi/handles.h"

namespace torch_aclnn::host {
namespace {

template <class... Pointers>
bool any_null(const Pointers*... pointers) {
    return (... || (pointers == nullptr));
}

aclnnStatus refuse_null(const char* function) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, std::string(function) + ": expected a handle and a place for each result, got null");
}

aclnnStatus copy_out(const char* function, const Dims& dims, int64_t** values, uint64_t* count) noexcept {
    *values = new (std::nothrow) int64_t[dims.size()];
    if (*values == nullptr) return fail(ACLNN_ERR_INNER, std::string(function) + ": out of host memory");
    std::copy(dims.begin(), dims.end(), *values);
    *count = dims.size();
    return ACLNN_SUCCESS;
}

template <class Result, class Handle, class Read>
aclnnStatus get(const char* function, const Handle* handle, Result* result, Read&& read) noexcept {
    if (any_null(handle, result)) return refuse_null(function);
    *result = read(*handle);
    return ACLNN_SUCCESS;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    if (any_null(tensor, viewDims, viewDimsNum)) return refuse_null("aclGetViewShape");
    return copy_out("aclGetViewShape", tensor->sizes, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    if (any_null(tensor, storageDims, storageDimsNum)) return refuse_null("aclGetStorageShape");
    return copy_out("aclGetStorageShape", tensor->storage_sizes, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    if (any_null(tensor, stridesValue, stridesNum)) return refuse_null("aclGetViewStrides");
    return copy_out("aclGetViewStrides", tensor->strides, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return get("aclGetViewOffset", tensor, offset, [](const aclTensor& t) { return t.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return get("aclGetFormat", tensor, format, [](const aclTensor& t) { return t.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return get("aclGetDataType", tensor, dataType, [](const aclTensor& t) { return t.dtype; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return get("aclGetIntArraySize", array, size, [](const aclIntArray& a) { return a.values.size(); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return get("aclGetFloatArraySize", array, size, [](const aclFloatArray& a) { return a.values.size(); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return get("aclGetBoolArraySize", array, size, [](const aclBoolArray& a) { return a.values.size(); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return get("aclGetTensorListSize", tensorList, size, [](const aclTensorList& l) { return l.members.size(); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return get("aclGetScalarListSize", scalarList, size, [](const aclScalarList& l) { return l.members.size(); });
}
