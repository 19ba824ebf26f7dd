// Whether ATen computes the data types of a call. No table of its kernels' types exists, and it looks at them as it computes; so phase 1
// has the body compute with small tensors of the same types, the first time that an entry point comes with these.
#pragma once

#include <c10/util/SmallVector.h>

#include <string_view>

#include "engine/aten/adapter/kinds.h"

namespace torch_aclnn::host::aten {

template <class Value>
inline constexpr bool kIsList = false;
template <class Member>
inline constexpr bool kIsList<std::vector<Member>> = true;
template <class Member, unsigned inline_count>
inline constexpr bool kIsList<c10::SmallVector<Member, inline_count>> = true;
template <class Value>
inline constexpr bool kIsOptional = false;
template <class Member>
inline constexpr bool kIsOptional<std::optional<Member>> = true;

// What decides the types that a body meets: the types and ranks of tensors, the types and sizes of numbers, and which arguments are given.
template <class Value>
constexpr bool decides_types() {
    return kIsOptional<Value> || kIsList<Value> || std::is_same_v<Value, at::Tensor> || requires(Value value) { value.tensor(); } ||
           std::is_same_v<Value, at::Scalar> || std::is_same_v<Value, std::string_view> || std::is_same_v<Value, at::ScalarType> ||
           (std::is_integral_v<Value> && sizeof(Value) <= 4);
}
inline uint64_t type_signature(const at::Tensor& tensor) {
    return 1 + static_cast<uint64_t>(tensor.scalar_type()) + 64 * static_cast<uint64_t>(tensor.dim());
}
// The signature has the type of a number, and which types cannot hold it: ATen throws where it converts the number to one of these.
uint64_t type_signature(const at::Scalar& number);
template <class Value>
uint64_t type_signature(const Value& value) {
    if constexpr (kIsOptional<Value>) {
        return value ? 1 + type_signature(*value) : 0;
    } else if constexpr (kIsList<Value>) {
        uint64_t signature = value.size();
        if constexpr (!std::is_arithmetic_v<typename Value::value_type>)
            for (const auto& member : value) signature = signature * 1099511628211u + type_signature(member);
        return signature;
    } else if constexpr (requires { value.tensor(); }) {
        return type_signature(value.tensor());
    } else if constexpr (std::is_same_v<Value, std::string_view>) {
        return value.size();
    } else if constexpr (std::is_same_v<Value, at::ScalarType> || (std::is_integral_v<Value> && sizeof(Value) <= 4)) {
        return static_cast<uint64_t>(value);
    } else {
        return 0;
    }
}

template <class Value>
void add_type_signature(uint64_t& signature, const Value& value) {
    if constexpr (decides_types<Value>()) signature = (signature ^ type_signature(value)) * 0x9E3779B97F4A7C15u;
}

// Calls the function with each tensor of the value, in a trial's own copy of the arguments. Returns false for a type that is not known
// here.
template <class Value>
bool visit_tensors(Value& value, const std::function<void(at::Tensor&)>& visit) {
    if constexpr (std::is_same_v<Value, at::Tensor>) {
        visit(value);
    } else if constexpr (requires { value.detached(); }) {
        visit(value.detached());
    } else if constexpr (kIsOptional<Value>) {
        return !value || visit_tensors(*value, visit);
    } else if constexpr (kIsList<Value>) {
        for (auto& member : value)
            if (!visit_tensors(member, visit)) return false;
    } else {
        return false;
    }
    return true;
}

// Remembers what has been tried. A number is added once, and none is ever removed; what a full table has no place for is tried again.
bool is_known(uint64_t signature);
void remember(uint64_t signature);

// Refuses, in the name of these parameters, what the function throws about data types, and has `refuse_number` refuse a number that does
// not fit into a type. Its other errors have to do with the tensors' sizes or values, which are not those of the call.
void try_types(const std::function<std::string()>& names, const std::function<void()>& refuse_number, const std::function<void()>& compute);

}  // namespace torch_aclnn::host::aten
