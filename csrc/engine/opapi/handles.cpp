#include "engine/opapi/handles.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "engine/opapi/format.h"
#include "engine/opapi/refusal.h"

namespace torch_aclnn::host {

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

std::optional<int64_t> checked_element_count(const Dims& dims) {
    int64_t count = 1;
    bool empty = false, overflows = false;
    for (int64_t d : dims) {
        if (d < 0) return std::nullopt;
        empty |= d == 0;
        overflows |= d > 0 && __builtin_mul_overflow(count, d, &count);
    }
    if (empty) return 0;
    return overflows ? std::nullopt : std::optional(count);
}

std::string describe_dead(const void* handle) {
    char address[2 + 2 * sizeof handle + 1];
    std::snprintf(address, sizeof address, "0x%zx", reinterpret_cast<size_t>(handle));
    return std::string(address) + ", which has been destroyed or never was one";
}

// Never destroyed: handles are still destroyed while the process exits.
#define TORCH_ACLNN_SLOTS(Handle)                               \
    template <>                                                 \
    SlotPool& slots_of<Handle>() {                              \
        static auto* const once = new SlotPool(sizeof(Handle)); \
        return *once;                                           \
    }
TORCH_ACLNN_SLOTS(aclTensor)
TORCH_ACLNN_SLOTS(aclScalar)
TORCH_ACLNN_SLOTS(aclIntArray)
TORCH_ACLNN_SLOTS(aclFloatArray)
TORCH_ACLNN_SLOTS(aclBoolArray)
TORCH_ACLNN_SLOTS(aclTensorList)
TORCH_ACLNN_SLOTS(aclScalarList)

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
    fail(ACLNN_ERR_PARAM_INVALID, std::string(function) + ": " + reason);
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
bool fill_list(MemberList<Handle>& members, const char* function, const Handle* const* source, uint64_t size) {
    if (source == nullptr && size > 0) return refuse(function, "value: expected a list of " + std::to_string(size) + ", got null");
    members.reserve(size);
    for (uint64_t i = 0; i < size; ++i)
        if (source[i] != nullptr && !slots_of<Handle>().is_live(source[i]))
            return refuse(function, "value: expected live handles of type " + std::string(handle_name<Handle>) + ", got " +
                                        describe_dead(source[i]) + " at position " + std::to_string(i));
    for (uint64_t i = 0; i < size; ++i) members.emplace_back(const_cast<Handle*>(source[i]));
    return true;
}

void set_contiguous(Dims& strides, const Dims& sizes) {
    strides = sizes;
    int64_t stride = 1;
    for (uint64_t i = sizes.size(); i-- > 0; stride *= std::max<int64_t>(sizes[i], 1)) strides[i] = stride;
}

template <class Handle>
bool owns_its_members(const Handle&) {
    return true;
}
template <class Member>
bool all_live(const MemberList<Member>& members) {
    return std::all_of(members.begin(), members.end(),
                       [](const auto& member) { return member == nullptr || slots_of<Member>().is_live(member.get()); });
}
bool owns_its_members(const aclTensorList& list) {
    return all_live(list.members);
}
bool owns_its_members(const aclScalarList& list) {
    return all_live(list.members);
}

template <class Handle>
aclnnStatus destroy(const char* function, const Handle* handle) noexcept {
    return answer(function, [&] {
        if (handle == nullptr) return;
        if (!slots_of<Handle>().retire(handle))
            throw Refusal(ACLNN_ERR_PARAM_INVALID,
                          "expected null or a live " + std::string(handle_name<Handle>) + ", got " + describe_dead(handle));
        const bool complete = owns_its_members(*handle);
        delete handle;
        if (!complete)
            throw Refusal(ACLNN_ERR_PARAM_INVALID,
                          "expected a list that owns its members, got one of which a member has been destroyed before");
    });
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
    return destroy(__func__, tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return destroy(__func__, scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
    return destroy(__func__, array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
    return destroy(__func__, array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
    return destroy(__func__, array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    return destroy(__func__, array);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    return destroy(__func__, array);
}
