// Read access to the handles. Arrays are new copies that the caller frees with delete[].
#include <algorithm>
#include <new>

#include "engine/opapi/handles.h"

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

// Calls `read` with the handle's object, if the handle is live and the places for the results are there.
template <class Handle, class Read, class... Results>
aclnnStatus get(const char* function, const Handle* handle, Read&& read, const Results*... results) noexcept {
    if (any_null(handle, results...)) return refuse_null(function);
    if (!slots_of<Handle>().is_live(handle))
        return fail(ACLNN_ERR_PARAM_INVALID,
                    std::string(function) + ": expected a live " + handle_name<Handle> + ", got " + describe_dead(handle));
    return read(*handle);
}

template <class Handle, class Result, class Read>
aclnnStatus get_value(const char* function, const Handle* handle, Result* result, Read&& read) noexcept {
    const auto assign = [&](const Handle& object) {
        *result = read(object);
        return ACLNN_SUCCESS;
    };
    return get(function, handle, assign, result);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return get(
        __func__, tensor, [&](const aclTensor& t) { return copy_out("aclGetViewShape", t.sizes, viewDims, viewDimsNum); }, viewDims,
        viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return get(
        __func__, tensor, [&](const aclTensor& t) { return copy_out("aclGetStorageShape", t.storage_sizes, storageDims, storageDimsNum); },
        storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return get(
        __func__, tensor, [&](const aclTensor& t) { return copy_out("aclGetViewStrides", t.strides, stridesValue, stridesNum); },
        stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return get_value(__func__, tensor, offset, [](const aclTensor& t) { return t.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return get_value(__func__, tensor, format, [](const aclTensor& t) { return t.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return get_value(__func__, tensor, dataType, [](const aclTensor& t) { return t.dtype; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return get_value(__func__, array, size, [](const aclIntArray& a) { return a.values.size(); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return get_value(__func__, array, size, [](const aclFloatArray& a) { return a.values.size(); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return get_value(__func__, array, size, [](const aclBoolArray& a) { return a.values.size(); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return get_value(__func__, tensorList, size, [](const aclTensorList& l) { return l.members.size(); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return get_value(__func__, scalarList, size, [](const aclScalarList& l) { return l.members.size(); });
}
