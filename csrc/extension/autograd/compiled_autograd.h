// The parts of a derivative for compiled autograd, which records calls of nodes in a graph: it collects what a node depends on, puts
// symbols in the place of tensors and sizes, and records a call of a function of values that a graph can hold.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace torch_aclnn {

using torch::autograd::variable_list;
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::IValuePacker;
using torch::dynamo::autograd::SwapSavedVariables;

template <class T>
concept HasFields = requires(T& value) { T::fields(value); };

// Calls `visit` with the value, or with each of its fields.
template <class T, class Visit>
void visit_parts(T& value, const Visit& visit) {
    using Type = std::remove_const_t<T>;
    if constexpr (HasFields<Type>)
        std::apply([&](auto&... fields) { (visit_parts(fields, visit), ...); }, Type::fields(value));
    else
        visit(value);
}

struct CollectPart {
    CompiledNodeArgs& arguments;

    void operator()(const torch::autograd::SavedVariable& part) const { arguments.collect(part, /*is_output=*/false); }
    template <class T, unsigned count>
    void operator()(const c10::SmallVector<T, count>& part) const {
        arguments.collect(c10::ArrayRef<T>(part));
    }
    template <class T>
    void operator()(const T& part) const {
        arguments.collect(part);
    }
};

// The type that torch packs in place of T.
template <class T>
struct Packable {
    using Type = T;
};
template <class T, unsigned count>
struct Packable<c10::SmallVector<T, count>> {
    using Type = std::vector<T>;
};

// Values as a graph holds them, and their types, by which they are read back from Python.
struct PackedArguments {
    std::vector<c10::IValue> values;
    std::vector<c10::TypePtr> types;
};

template <class... T>
PackedArguments pack(const T&... arguments) {
    PackedArguments packed;
    const auto add = [&]<class Part>(const Part& part) {
        using Type = typename Packable<Part>::Type;
        if constexpr (std::is_same_v<Type, Part>)
            packed.values.push_back(IValuePacker<Type>::pack(part));
        else
            packed.values.push_back(IValuePacker<Type>::pack(Type(part.begin(), part.end())));
        packed.types.push_back(IValuePacker<Type>::packed_type());
    };
    (visit_parts(arguments, add), ...);
    return packed;
}

// Reads one value of type T, field by field, from the next that were packed.
template <class T>
T next_unpacked(const c10::IValue*& next) {
    using Type = typename Packable<T>::Type;
    if constexpr (HasFields<T>) {
        const auto read = [&]<class... Fields>(std::type_identity<std::tuple<Fields&...>>) { return T{next_unpacked<Fields>(next)...}; };
        return read(std::type_identity<decltype(T::fields(std::declval<T&>()))>());
    } else if constexpr (std::is_same_v<Type, T>) {
        return IValuePacker<Type>::unpack(*next++);
    } else {
        const Type values = IValuePacker<Type>::unpack(*next++);
        return T(values.begin(), values.end());
    }
}

template <class... T>
std::tuple<T...> unpack_arguments(const std::vector<c10::IValue>& values) {
    const c10::IValue* next = values.data();
    return {next_unpacked<T>(next)...};
}

// Makes a function known to the compiler, once for each node's name. It may be traced: its body is calls of operators.
std::string bind_function(const SwapSavedVariables& saved, const char* name, const auto& function, const std::vector<c10::TypePtr>& types) {
    return torch::dynamo::autograd::getPyCompilerInterface()->bind_function(saved.get_py_compiler(), name, function, types,
                                                                            /*is_custom_function=*/true, /*is_traceable=*/true);
}

inline variable_list call_function(const SwapSavedVariables& saved, const std::string& name, const variable_list& gradients,
                                   const std::vector<c10::IValue>& values, const torch::autograd::edge_list& inputs) {
    using InputMetadata = std::vector<std::optional<torch::autograd::InputMetadata>>;
    const c10::IValue metadata = IValuePacker<InputMetadata>::pack(torch::dynamo::autograd::get_input_metadata(inputs));
    const auto& compiler = torch::dynamo::autograd::getPyCompilerInterface();
    return compiler->call_function(saved.get_py_compiler(), "apply_functional", name, gradients, values, metadata);
}

}  // namespace torch_aclnn
