#include "engine/opapi/traced_arguments.h"

#include <complex>

#include "kernels/support/half.h"

namespace torch_aclnn::host {

template <class Handle, class Write>
static std::string json_of_handle(const Handle* handle, Write&& write) {
    if (handle == nullptr) return "null";
    if (!slots_of<Handle>().is_live(handle)) return json_of(describe_dead(handle));
    return write(*handle);
}

static std::string json_of_tensor(const aclTensor* handle) {
    return json_of_handle(handle, [](const aclTensor& tensor) {
        JsonObject object;
        object.add_json("shape", json_array(tensor.sizes, [](int64_t size) { return json_of(size); }));
        object.add("dtype", to_string(tensor.dtype)).add("format", to_string(tensor.format));
        return object.text();
    });
}

template <class Number>
static Number value_of(const aclScalar& scalar) {
    Number number;
    std::memcpy(&number, scalar.bytes.data(), sizeof number);
    return number;
}

template <class Number>
static std::string json_of_complex(const aclScalar& scalar) {
    const auto number = value_of<std::complex<Number>>(scalar);
    return "[" + json_of(number.real()) + ", " + json_of(number.imag()) + "]";
}

static std::string json_of_number(const aclScalar& scalar) {
    switch (scalar.dtype) {
        case ACL_FLOAT: return json_of(value_of<float>(scalar));
        case ACL_FLOAT16: return json_of(kernels::half_to_float(value_of<uint16_t>(scalar)));
        case ACL_BF16: return json_of(kernels::bfloat16_to_float(value_of<uint16_t>(scalar)));
        case ACL_DOUBLE: return json_of(value_of<double>(scalar));
        case ACL_INT8: return json_of(value_of<int8_t>(scalar));
        case ACL_UINT8: return json_of(value_of<uint8_t>(scalar));
        case ACL_INT16: return json_of(value_of<int16_t>(scalar));
        case ACL_UINT16: return json_of(value_of<uint16_t>(scalar));
        case ACL_INT32: return json_of(value_of<int32_t>(scalar));
        case ACL_UINT32: return json_of(value_of<uint32_t>(scalar));
        case ACL_INT64: return json_of(value_of<int64_t>(scalar));
        case ACL_UINT64: return json_of(value_of<uint64_t>(scalar));
        case ACL_BOOL: return json_of(scalar.bytes[0] != 0);
        case ACL_COMPLEX64: return json_of_complex<float>(scalar);
        case ACL_COMPLEX128: return json_of_complex<double>(scalar);
        default: return json_of(to_string(scalar.dtype));
    }
}

static std::string json_of_scalar(const aclScalar* handle) {
    return json_of_handle(handle, json_of_number);
}

static std::string json_of_values(const auto* handle) {
    return json_of_handle(handle, [](const auto& array) { return json_array(array.values, [](auto value) { return json_of(value); }); });
}

static std::string json_of_members(const auto* handle, auto json_of_member) {
    return json_of_handle(handle, [&](const auto& list) {
        return json_array(list.members, [&](const auto& member) { return json_of_member(member.get()); });
    });
}

void add_argument(JsonObject& arguments, const char* name, const aclTensor* tensor) {
    arguments.add_json(name, json_of_tensor(tensor));
}

void add_argument(JsonObject& arguments, const char* name, const aclTensorList* tensors) {
    arguments.add_json(name, json_of_members(tensors, json_of_tensor));
}

void add_argument(JsonObject& arguments, const char* name, const aclScalar* scalar) {
    arguments.add_json(name, json_of_scalar(scalar));
}

void add_argument(JsonObject& arguments, const char* name, const aclScalarList* scalars) {
    arguments.add_json(name, json_of_members(scalars, json_of_scalar));
}

void add_argument(JsonObject& arguments, const char* name, const aclIntArray* numbers) {
    arguments.add_json(name, json_of_values(numbers));
}

void add_argument(JsonObject& arguments, const char* name, const aclFloatArray* numbers) {
    arguments.add_json(name, json_of_values(numbers));
}

void add_argument(JsonObject& arguments, const char* name, const aclBoolArray* values) {
    const auto write = [](const aclBoolArray& array) {
        return json_array(array.values, [](unsigned char value) { return json_of(value != 0); });
    };
    arguments.add_json(name, json_of_handle(values, write));
}

void add_argument(JsonObject& arguments, const char* name, aclDataType dtype) {
    arguments.add(name, to_string(dtype));
}

}  // namespace torch_aclnn::host
