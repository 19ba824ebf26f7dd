// Entry points on ATen's CPU kernels, which csrc/vocabulary makes of its records: what the generated code is written in.
//
// Phase 1 reads all arguments, which checks each of them by its kind (kinds.h, attributes.h); then the data type and the dimensions that
// name one of the first tensor's. What must hold between arguments (relations.h) and the shapes that are stated (expected.h) are checked
// last.
//
// Outputs, and what is read and written, share no memory with each other or with an input, except that an output may be an input exactly.
//
// The body runs in phase 2. An Error from there keeps its code up to the synchronisation that reports it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/aten/adapter/attributes.h"
#include "engine/aten/adapter/expected.h"
#include "engine/aten/adapter/kinds.h"
#include "engine/aten/adapter/relations.h"
#include "engine/aten/adapter/views.h"
#include "engine/aten/numerics/trial.h"
#include "engine/opapi/checks.h"

namespace torch_aclnn::host::aten {

// Runs the body as plain CPU code: without autograd, autocast and the modes of the calling thread; an error of ATen becomes one of the
// engine, with its message and without its backtrace.
void run_plainly(const std::function<void()>& body);

// Checks the data type of a tensor, or of each member of a list, and returns the number of dimensions (of a list, its first member's). A
// null is an argument that was not given.
uint64_t require_dtype_of(DTypes listed, const char* name, const aclTensor* tensor);
uint64_t require_dtype_of(DTypes listed, const char* name, const aclTensorList* tensors);

// A kind for code that does not know its type, so that one function reads the arguments of all entry points. `argument` is the address of
// the C argument, `value` that of the kind's Value.
struct ErasedKind {
    size_t value_size;
    void (*read)(const char* name, const void* argument, void* value);
    void (*destroy)(void* value);
    void (*describe)(JsonObject& arguments, const char* name, const void* argument);
    bool (*visit_tensors)(void* value, const std::function<void(at::Tensor&)>& visit);
    KeptArgument (*keep)(const void* argument);
    bool is_scalar;   // its handle is an aclScalar
    bool is_written;  // its tensors are
    DTypes dtypes;    // of tensors of any type, none
    // Null unless the kind is of dimensions, decides how phase 2 launches the operator, is of tensors, or is a handle.
    void (*require_dims)(const char* name, const void* argument, uint64_t rank) = nullptr;
    void (*set_launch)(aclOpExecutor& executor, const void* value) = nullptr;
    uint64_t (*require_dtype)(DTypes listed, const char* name, const void* argument) = nullptr;
    void (*watch)(aclOpExecutor& executor, const char* name, const void* argument) = nullptr;
};

// The data types of a kind that has its own.
template <class Kind>
constexpr DTypes dtypes_of() {
    if constexpr (requires { Kind::dtypes; })
        return Kind::dtypes;
    else
        return NO_DTYPE;
}

template <class Kind>
struct Erased {
    using Handle = typename Kind::Handle;
    using Value = typename Kind::Value;
    static constexpr bool kIsTensors =
        std::is_convertible_v<Handle, const aclTensor*> || std::is_convertible_v<Handle, const aclTensorList*>;
    static constexpr bool kIsWritten = std::is_same_v<Handle, aclTensor*> || requires { Kind::writes_members; };
    static constexpr bool kIsHandle = std::is_pointer_v<Handle> && std::is_class_v<std::remove_pointer_t<Handle>>;

    static Handle handle(const void* argument) { return *static_cast<const Handle*>(argument); }
    static void read(const char* name, const void* argument, void* value) { new (value) Value(Kind::read(name, handle(argument))); }
    static void destroy(void* value) {
        leave_views(*static_cast<Value*>(value));
        static_cast<Value*>(value)->~Value();
    }
    static void describe(JsonObject& arguments, const char* name, const void* argument) { add_argument(arguments, name, handle(argument)); }
    static KeptArgument keep(const void* argument) { return KeptArgument::of(handle(argument)); }
    static bool visit(void* value, const std::function<void(at::Tensor&)>& visitor) {
        return visit_tensors(*static_cast<Value*>(value), visitor);
    }

    static constexpr ErasedKind kind() {
        ErasedKind erased{sizeof(Value),    read, destroy, describe, visit, keep, std::is_same_v<Handle, const aclScalar*>, kIsWritten,
                          dtypes_of<Kind>()};
        if constexpr (requires { Kind::require_dims; })
            erased.require_dims = [](const char* name, const void* argument, uint64_t rank) {
                Kind::require_dims(name, handle(argument), rank);
            };
        if constexpr (requires { Kind::set_launch; })
            erased.set_launch = [](aclOpExecutor& executor, const void* value) {
                Kind::set_launch(executor, *static_cast<const Value*>(value));
            };
        if constexpr (kIsTensors)
            erased.require_dtype = [](DTypes listed, const char* name, const void* argument) {
                return require_dtype_of(listed, name, handle(argument));
            };
        if constexpr (kIsHandle)
            erased.watch = [](aclOpExecutor& executor, const char* name, const void* argument) {
                if constexpr (requires { Kind::writes_members; })
                    executor.watch(name, const_cast<aclTensorList*>(handle(argument)));
                else
                    executor.watch(name, handle(argument));
            };
        return erased;
    }
};
template <class Kind>
inline constexpr ErasedKind kErased = Erased<Kind>::kind();

// An entry point with the kinds of its arguments, and its functions, which take the values that were read of them.
struct Adapter {
    const EntryPoint& entry;
    const ErasedKind* const* kinds;
    const size_t* offsets;  // of the values from the first one on; the last number is where they end
    size_t count;
    void (*check)(const Adapter& adapter, char* values);
    void (*body)(const Adapter& adapter, char* values);
    uint64_t (*type_signature)(char* values);  // trial.h
    bool starts_from_input;                    // the first argument, which may be the output then
};

// Each value may be of any type.
constexpr size_t kValueAlignment = 16;
constexpr size_t offset_behind(size_t offset, size_t value_size) {
    return offset + (value_size + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

// Phase 1 of any adapter, with the addresses of its arguments. The adapter must live as long as the executors that it makes.
aclnnStatus prepare(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept;

// What stands for a parameter that another version of the entry point has.
template <class Kind>
typename Kind::Parameter absent() {
    static std::remove_cvref_t<typename Kind::Parameter> none{};
    return none;
}

template <class... Kinds>
struct Arguments {
    static constexpr std::array<size_t, sizeof...(Kinds) + 1> offsets = [] {
        std::array<size_t, sizeof...(Kinds) + 1> offsets{};
        size_t i = 0;
        ((offsets[i + 1] = offset_behind(offsets[i], sizeof(typename Kinds::Value)), ++i), ...);
        return offsets;
    }();

    template <auto function>
    static void pass(const Adapter&, char* values) {
        pass<function>(values, std::index_sequence_for<Kinds...>{});
    }
    template <auto function, size_t... I>
    static void pass(char* values, std::index_sequence<I...>) {
        function(*reinterpret_cast<typename Kinds::Value*>(values + offsets[I])...);
    }
    // One function for each entry point: values on which no type depends cost nothing then.
    static uint64_t type_signature(char* values) { return type_signature(values, std::index_sequence_for<Kinds...>{}); }
    template <size_t... I>
    static uint64_t type_signature(char* values, std::index_sequence<I...>) {
        uint64_t signature = 0;
        (add_type_signature(signature, *reinterpret_cast<const typename Kinds::Value*>(values + offsets[I])), ...);
        return signature;
    }
};

}  // namespace torch_aclnn::host::aten
