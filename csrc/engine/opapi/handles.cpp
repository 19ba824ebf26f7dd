#include "engine/opapi/handles.h"

#include <cstdio>

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

std::string to_string(const Dims& dims) {
    std::string text = "{";
    for (int64_t d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + "}";
}

std::string to_string(aclFormat format) {
    switch (static_cast<int>(format)) {
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
        case 4: return "FRACTAL_Z";
        case 33: return "FRACTAL_Z_3D";
        case 51: return "FRACTAL_NZ_C0_32";
        default: return "aclFormat(" + std::to_string(static_cast<int>(format)) + ")";
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

// The pools are never destroyed, because handles are still destroyed while the process exits.
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

// No attribute has nearly as many elements. Without the limit a wrong length could ask for more memory than the machine has.
constexpr uint64_t kMaxLength = uint64_t{1} << 20;

static void require_length(const char* what, const void* source, uint64_t size) {
    if (source == nullptr && size > 0) refuse("value", what + (" of " + std::to_string(size)), "null");
    if (size > kMaxLength) refuse("size", "at most " + std::to_string(kMaxLength), std::to_string(size));
}

// Handles are made without a status, so a failure is a null handle and a message.
template <class Handle, class Fill>
static Handle* create(const char* function, Fill&& fill) noexcept {
    std::unique_ptr<Handle> handle;
    const aclnnStatus status = guarded(function, [&] {
        handle.reset(new Handle);  // make_unique would write zeros into all of it
        fill(*handle);
    });
    return status == ACLNN_SUCCESS ? handle.release() : nullptr;
}

template <class Handle, class Value>
static Handle* create_array(const char* function, const Value* source, uint64_t size) noexcept {
    return create<Handle>(function, [&](Handle& array) {
        require_length("an array", source, size);
        array.values.assign(source, size);
    });
}

template <class List, class Member>
static List* create_list(const char* function, const Member* const* source, uint64_t size) noexcept {
    return create<List>(function, [&](List& list) {
        require_length("a list", source, size);
        list.members.reserve(size);
        for (uint64_t i = 0; i < size; ++i)
            if (source[i] != nullptr && !slots_of<Member>().is_live(source[i]))
                refuse("value", "live handles of type " + std::string(handle_name<Member>),
                       describe_dead(source[i]) + " at position " + std::to_string(i));
        for (uint64_t i = 0; i < size; ++i) list.members.emplace_back(const_cast<Member*>(source[i]));
    });
}

static void set_contiguous(Dims& strides, const Dims& sizes) {
    strides = sizes;
    uint64_t stride = 1;  // may wrap for sizes that an operator refuses
    for (uint64_t i = sizes.size(); i-- > 0; stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1)))
        strides[i] = static_cast<int64_t>(stride);
}

static bool owns_its_members(const auto&) {
    return true;
}
template <class Member>
static bool all_live(const MemberList<Member>& members) {
    return std::all_of(members.begin(), members.end(),
                       [](const auto& member) { return member == nullptr || slots_of<Member>().is_live(member.get()); });
}
static bool owns_its_members(const aclTensorList& list) {
    return all_live(list.members);
}
static bool owns_its_members(const aclScalarList& list) {
    return all_live(list.members);
}

template <class Handle>
static aclnnStatus destroy(const char* function, const char* name, const Handle* handle) noexcept {
    return aclnn_guarded(function, [&] {
        if (handle == nullptr) return;
        if (!slots_of<Handle>().retire(handle)) refuse(name, "null or a live " + std::string(handle_name<Handle>), describe_dead(handle));
        const bool complete = owns_its_members(*handle);
        drop(handle);
        if (!complete) refuse(name, "a list that owns its members", "one of which a member has been destroyed before");
    });
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* strides, int64_t offset,
                           aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum, void* data) {
    return create<aclTensor>(__func__, [&](aclTensor& tensor) {
        if (viewDimsNum > kMaxRank || storageDimsNum > kMaxRank)
            refuse("viewDimsNum and storageDimsNum", "at most " + std::to_string(kMaxRank),
                   std::to_string(viewDimsNum) + " and " + std::to_string(storageDimsNum));
        if ((viewDims == nullptr && viewDimsNum > 0) || (storageDims == nullptr && storageDimsNum > 0))
            refuse("viewDims and storageDims", "an array where the number is not 0", "null");
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
    });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    return create<aclScalar>(__func__, [&](aclScalar& scalar) {
        if (value == nullptr) refuse("value", "a pointer to the number", "null");
        const size_t size = aclDataTypeSize(dataType);
        if (size == 0) refuse("dataType", "a type with a size", to_string(dataType));
        scalar.dtype = dataType;
        std::memcpy(scalar.bytes.data(), value, size);
    });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
    return destroy(__func__, "tensor", tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return destroy(__func__, "scalar", scalar);
}

#define DEFINE_ARRAY(Name, Member, make)                             \
    acl##Name* aclCreate##Name(const Member* value, uint64_t size) { \
        return make<acl##Name>(__func__, value, size);               \
    }                                                                \
    aclnnStatus aclDestroy##Name(const acl##Name* array) {           \
        return destroy(__func__, "array", array);                    \
    }
DEFINE_ARRAY(IntArray, int64_t, create_array)
DEFINE_ARRAY(FloatArray, float, create_array)
DEFINE_ARRAY(BoolArray, bool, create_array)
DEFINE_ARRAY(TensorList, aclTensor* const, create_list)
DEFINE_ARRAY(ScalarList, aclScalar* const, create_list)
