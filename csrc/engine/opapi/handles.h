// The structures behind the public handles. All of them own copies of what they were given, and live in the pool of their kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "aclnn/acl_meta.h"
#include "engine/opapi/slot_pool.h"
#include "engine/runtime/data_type.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

// The codes of aclnn for exceptions that carry no code.
inline constexpr FallbackCodes kAclnnCodes{ACLNN_ERR_INNER, ACLNN_ERR_INNER};
inline constexpr FallbackCodes kPhase1Codes{ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER_CREATE_EXECUTOR};

aclnnStatus aclnn_guarded(const char* function, auto&& body) {
    return guarded(function, body, kAclnnCodes);
}

constexpr uint64_t kMaxRank = 16;

// A short list of dimensions or strides without an allocation.
class Dims {
   public:
    Dims() = default;
    Dims(const int64_t* values, uint64_t count) : size_(count) { std::copy_n(values, count, values_.begin()); }
    Dims(const Dims& other) : Dims(other.begin(), other.size_) {}  // elements behind the size are not copied
    Dims& operator=(const Dims& other) {
        size_ = other.size_;
        std::copy_n(other.begin(), size_, values_.begin());
        return *this;
    }

    uint64_t size() const { return size_; }
    const int64_t* begin() const { return values_.data(); }
    const int64_t* end() const { return values_.data() + size_; }
    int64_t operator[](uint64_t i) const { return values_[i]; }
    int64_t& operator[](uint64_t i) { return values_[i]; }
    bool operator==(const Dims& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
    bool operator!=(const Dims& other) const { return !(*this == other); }

   private:
    std::array<int64_t, kMaxRank> values_;
    uint64_t size_ = 0;
};

std::string to_string(const Dims& dims);  // "{1, 16, 4, 4}"

// The values of an array, without an allocation if they are few, as they nearly always are.
template <class Value>
class ArrayValues {
   public:
    ArrayValues() = default;
    ArrayValues(const ArrayValues& other) { assign(other.data(), other.size()); }
    void assign(const void* source, uint64_t count) {
        if (count > few_.size()) many_.reset(new Value[count]);
        size_ = count;
        if (count > 0) std::memcpy(many_ ? many_.get() : few_.data(), source, count * sizeof(Value));
    }

    uint64_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const Value* data() const { return many_ ? many_.get() : few_.data(); }
    const Value* begin() const { return data(); }
    const Value* end() const { return data() + size_; }
    Value operator[](uint64_t i) const { return data()[i]; }

   private:
    std::unique_ptr<Value[]> many_;
    uint64_t size_ = 0;
    std::array<Value, 96 / sizeof(Value)> few_;  // a slot of 128 bytes has room for them
};
TORCH_ACLNN_HOST_API std::string to_string(aclFormat format);
// Returns true where strides describe the memory; the chips' private layouts (NC1HWC0, FRACTAL_NZ and so on) are not public.
TORCH_ACLNN_HOST_API bool is_public(aclFormat format);

// Returns the product of the dimensions; nothing if one is negative or the product is beyond int64_t.
TORCH_ACLNN_HOST_API std::optional<int64_t> checked_element_count(const Dims& dims);

}  // namespace torch_aclnn::host

struct aclTensor : torch_aclnn::host::Pooled<aclTensor> {
    torch_aclnn::host::Dims sizes;
    torch_aclnn::host::Dims strides;
    torch_aclnn::host::Dims storage_sizes;
    int64_t offset = 0;
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    void* data = nullptr;  // the first byte of the storage

    uint64_t rank() const { return sizes.size(); }
    bool empty() const { return std::find(sizes.begin(), sizes.end(), 0) != sizes.end(); }
    // The sizes must have been checked.
    int64_t numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
    void* first_element() const { return static_cast<char*>(data) + offset * torch_aclnn::host::bits_of(dtype) / 8; }
};

struct aclScalar : torch_aclnn::host::Pooled<aclScalar> {
    aclDataType dtype;
    alignas(16) std::array<unsigned char, 16> bytes{};
};

struct aclIntArray : torch_aclnn::host::Pooled<aclIntArray> {
    torch_aclnn::host::ArrayValues<int64_t> values;
};

struct aclFloatArray : torch_aclnn::host::Pooled<aclFloatArray> {
    torch_aclnn::host::ArrayValues<float> values;
};

struct aclBoolArray : torch_aclnn::host::Pooled<aclBoolArray> {
    torch_aclnn::host::ArrayValues<unsigned char> values;
};

namespace torch_aclnn::host {

// Destroys a member unless its owner has destroyed it without the list.
template <class Member>
struct MemberDeleter {
    void operator()(Member* member) const {
        if (slots_of<Member>().retire(member)) drop(member);
    }
};
template <class Member>
using MemberList = std::vector<std::unique_ptr<Member, MemberDeleter<Member>>>;

}  // namespace torch_aclnn::host

struct aclTensorList : torch_aclnn::host::Pooled<aclTensorList> {
    torch_aclnn::host::MemberList<aclTensor> members;
};

struct aclScalarList : torch_aclnn::host::Pooled<aclScalarList> {
    torch_aclnn::host::MemberList<aclScalar> members;
};

namespace torch_aclnn::host {

template <class Handle>
inline constexpr const char* handle_name = nullptr;  // the kind's public name, for messages

// Returns "0x..., which has been destroyed or never was one".
TORCH_ACLNN_HOST_API std::string describe_dead(const void* handle);

#define TORCH_ACLNN_HANDLE_KIND(Handle)                         \
    template <>                                                 \
    inline constexpr const char* handle_name<Handle> = #Handle; \
    template <>                                                 \
    TORCH_ACLNN_HOST_API SlotPool& slots_of<Handle>();

TORCH_ACLNN_HANDLE_KIND(aclTensor)
TORCH_ACLNN_HANDLE_KIND(aclScalar)
TORCH_ACLNN_HANDLE_KIND(aclIntArray)
TORCH_ACLNN_HANDLE_KIND(aclFloatArray)
TORCH_ACLNN_HANDLE_KIND(aclBoolArray)
TORCH_ACLNN_HANDLE_KIND(aclTensorList)
TORCH_ACLNN_HANDLE_KIND(aclScalarList)

}  // namespace torch_aclnn::host
