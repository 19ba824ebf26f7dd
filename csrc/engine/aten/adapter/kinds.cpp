#include "engine/aten/adapter/kinds.h"

#include <ATen/ops/from_blob.h>
#include <c10/util/complex.h>

#include <iterator>
#include <utility>

#include "engine/aten/adapter/views.h"
#include "engine/opapi/checks.h"
#include "engine/opapi/handles.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host::aten {

template <class Handle>
static const Handle& required(const char* name, const Handle* handle) {
    require_handle(name, handle);
    return *handle;
}

// ATen's data types, the most frequent first.
constexpr std::pair<aclDataType, at::ScalarType> kTypes[] = {
    {ACL_FLOAT, at::kFloat},
    {ACL_FLOAT16, at::kHalf},
    {ACL_BF16, at::kBFloat16},
    {ACL_INT64, at::kLong},
    {ACL_INT32, at::kInt},
    {ACL_BOOL, at::kBool},
    {ACL_DOUBLE, at::kDouble},
    {ACL_INT8, at::kChar},
    {ACL_UINT8, at::kByte},
    {ACL_INT16, at::kShort},
    {ACL_UINT16, at::kUInt16},
    {ACL_UINT32, at::kUInt32},
    {ACL_UINT64, at::kUInt64},
    {ACL_COMPLEX64, at::kComplexFloat},
    {ACL_COMPLEX128, at::kComplexDouble},
};
// Types that the 950 alone has. torch has the last one from 2.7 on.
constexpr std::pair<aclDataType, at::ScalarType> kTypesOf950[] = {
    {ACL_FLOAT8_E4M3FN, at::kFloat8_e4m3fn},
    {ACL_FLOAT8_E5M2, at::kFloat8_e5m2},
#if __has_include(<c10/util/Float8_e8m0fnu.h>)
    {ACL_FLOAT8_E8M0, at::kFloat8_e8m0fnu},
#endif
};

// The documents' general limits of a shape.
constexpr uint64_t kMaxDims = 8;
static void require_general_shape(const char* name, const auto& sizes) {
    if (sizes.size() > kMaxDims) refuse(name, "at most " + std::to_string(kMaxDims) + " dimensions", std::to_string(sizes.size()));
    for (const int64_t size : sizes)
        if (size < 0) refuse(name, "no negative dimension", std::to_string(size));
}

template <class T>
static T value_of(const aclScalar& scalar) {
    T value;
    std::copy_n(scalar.bytes.data(), sizeof value, reinterpret_cast<unsigned char*>(&value));
    return value;
}

static at::ScalarType scalar_type_of_950(const char* name, aclDataType dtype) {
    for (const auto& [type, of_aten] : kTypesOf950) {
        if (type != dtype) continue;
        if (config().product != Product::ascend950) refuse(name, "a data type of the product, " + config().soc_name, to_string(dtype));
        return of_aten;
    }
    refuse(name, "a data type that the engine computes on " + config().soc_name, to_string(dtype));
}

at::ScalarType scalar_type(const char* name, aclDataType dtype) {
    const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& pair) { return pair.first == dtype; });
    return found == std::end(kTypes) ? scalar_type_of_950(name, dtype) : found->second;
}

aclDataType acl_data_type(at::ScalarType type) {
    for (const auto& [of_950, of_aten] : kTypesOf950)
        if (of_aten == type) return of_950;
    const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& pair) { return pair.second == type; });
    return found == std::end(kTypes) ? ACL_DT_UNDEFINED : found->first;
}

std::string dtype_name(at::ScalarType type) {
    const aclDataType dtype = acl_data_type(type);
    return dtype == ACL_DT_UNDEFINED ? c10::toString(type) : to_string(dtype);
}

static at::Tensor read_view(const char* name, const aclTensor* handle, bool is_written) {
    const aclTensor& tensor = required(name, handle);
    require_general_shape(name, tensor.sizes);
    if (!is_public(tensor.format)) refuse(name, "a public format", to_string(tensor.format));
    // Hardware has a code of its own for an input that goes beyond its storage.
    const size_t bytes = require_device_view({name, handle}, is_written, is_written ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_INNER_NULLPTR);
    return view_of(host_view(tensor.first_element()), bytes, {tensor.sizes.begin(), tensor.sizes.end()},
                   {tensor.strides.begin(), tensor.strides.end()}, scalar_type(name, tensor.dtype));
}

at::Tensor read_tensor(const char* name, const aclTensor* handle) {
    return read_view(name, handle, false);
}
at::Tensor read_output(const char* name, aclTensor* handle) {
    return read_view(name, handle, true);
}

PackedOutput::PackedOutput(const char* name, aclTensor* handle) : name_(name), largest_(read_output(name, handle)), handle_(handle) {
    if (!largest_.is_contiguous()) refuse(name, "a tensor without gaps", c10::str("strides ", largest_.strides()));
}

void PackedOutput::pack(const at::Tensor& result) const {
    if (result.numel() > largest_.numel())
        refuse(name_, "room for " + std::to_string(result.numel()) + " elements", std::to_string(largest_.numel()));
    const at::Tensor packed = at::from_blob(largest_.mutable_data_ptr(), result.sizes(), largest_.options());
    packed.copy_(result);
    if (handle_ == nullptr) return;
    handle_->sizes = Dims(packed.sizes().data(), packed.dim());
    handle_->strides = Dims(packed.strides().data(), packed.dim());
}

at::Scalar read_scalar(const char* name, const aclScalar* handle) {
    const aclScalar& scalar = required(name, handle);
    switch (scalar.dtype) {
        case ACL_FLOAT: return value_of<float>(scalar);
        case ACL_FLOAT16: return value_of<at::Half>(scalar);
        case ACL_BF16: return value_of<at::BFloat16>(scalar);
        case ACL_DOUBLE: return value_of<double>(scalar);
        case ACL_INT8: return value_of<int8_t>(scalar);
        case ACL_UINT8: return value_of<uint8_t>(scalar);
        case ACL_INT16: return value_of<int16_t>(scalar);
        case ACL_INT32: return value_of<int32_t>(scalar);
        case ACL_INT64: return value_of<int64_t>(scalar);
        case ACL_UINT64: return value_of<uint64_t>(scalar);
        case ACL_BOOL: return scalar.bytes[0] != 0;
        case ACL_COMPLEX64: return value_of<c10::complex<float>>(scalar);
        case ACL_COMPLEX128: return value_of<c10::complex<double>>(scalar);
        default: refuse(name, "a scalar of a data type that ATen has", to_string(scalar.dtype));
    }
}

at::IntArrayRef read_ints(const char* name, const aclIntArray* handle) {
    const ArrayValues<int64_t>& values = required(name, handle).values;
    return {values.data(), values.size()};
}

at::IntArrayRef read_shape(const char* name, const aclIntArray* handle) {
    const at::IntArrayRef sizes = read_ints(name, handle);
    require_general_shape(name, sizes);
    return sizes;
}

std::vector<int64_t> copy_ints(const char* name, const aclIntArray* handle) {
    return read_ints(name, handle).vec();
}

std::vector<unsigned char> read_bools(const char* name, const aclBoolArray* handle) {
    const ArrayValues<unsigned char>& values = required(name, handle).values;
    return {values.begin(), values.end()};
}

static std::vector<at::Tensor> read_views(const char* name, const aclTensorList* handle, bool is_written) {
    std::vector<at::Tensor> tensors;
    for (const auto& member : required(name, handle).members) {
        if (!member) refuse_null(name, "a tensor in each place");
        tensors.push_back(read_view(name, member.get(), is_written));
    }
    return tensors;
}

std::vector<at::Tensor> read_tensors(const char* name, const aclTensorList* handle) {
    return read_views(name, handle, false);
}
std::vector<at::Tensor> read_outputs(const char* name, const aclTensorList* handle) {
    return read_views(name, handle, true);
}

std::vector<at::Scalar> read_scalars(const char* name, const aclScalarList* handle) {
    std::vector<at::Scalar> scalars;
    for (const auto& member : required(name, handle).members) scalars.push_back(read_scalar(name, member.get()));
    return scalars;
}

}  // namespace torch_aclnn::host::aten
