// The structures behind the public handles. All of them own copies of what they were given.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "host/runtime/engine.h"

namespace torch_aclnn::host {

constexpr uint64_t kMaxRank = 16;

// A short list of dimensions or strides without an allocation.
class Dims {
   public:
    Dims() = default;
    Dims(const int64_t* values, uint64_t count) : size_(count) { std::copy_n(values, count, values_.begin()); }
    Dims(const Dims& other) : Dims(other.begin(), other.size_) {}  // what is behind the size is not worth copying
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
TORCH_ACLNN_HOST_API std::string to_string(aclDataType dtype);
TORCH_ACLNN_HOST_API std::string to_string(aclFormat format);

int64_t element_count(const Dims& dims);

}  // namespace torch_aclnn::host

struct aclTensor {
    torch_aclnn::host::Dims sizes;
    torch_aclnn::host::Dims strides;
    torch_aclnn::host::Dims storage_sizes;
    int64_t offset = 0;
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    void* data = nullptr;  // the first byte of the storage

    uint64_t rank() const { return sizes.size(); }
    int64_t numel() const { return torch_aclnn::host::element_count(sizes); }
    void* first_element() const { return static_cast<char*>(data) + offset * static_cast<int64_t>(aclDataTypeSize(dtype)); }
};

struct aclScalar {
    aclDataType dtype;
    alignas(16) std::array<unsigned char, 16> bytes{};
};

struct aclIntArray {
    std::vector<int64_t> values;
};

struct aclFloatArray {
    std::vector<float> values;
};

struct aclBoolArray {
    std::vector<unsigned char> values;  // not vector<bool>: callers read it as an array
};

struct aclTensorList {
    std::vector<std::unique_ptr<aclTensor>> members;
};

struct aclScalarList {
    std::vector<std::unique_ptr<aclScalar>> members;
};
