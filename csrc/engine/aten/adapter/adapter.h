// Entry points on ATen's CPU kernels, which csrc/vocabulary makes of its records: what the generated code is written in.
//
// Phase 1 reads all arguments, which checks each of them by its kind (kinds.h, attributes.h); then the data types, and the dimensions that
// name one of the first tensor's. What must hold between arguments (relations.h) and the shapes that are stated (expected.h) are checked
// last.
//
// Outputs, and what is read and written, share no memory with each other or with an input, except that an output may be an input exactly.
//
// The body runs in phase 2. An Error from there keeps its code up to the synchronisation that reports it.
#pragma once

#include <ATen/ATen.h>

#include <new>

#include "engine/aten/adapter/expected.h"
#include "engine/aten/adapter/relations.h"
#include "engine/aten/adapter/views.h"
#include "engine/aten/numerics/arguments.h"
#include "engine/aten/numerics/indices.h"
#include "engine/aten/numerics/results.h"
#include "engine/aten/numerics/trial.h"
#include "engine/opapi/checks.h"

namespace torch_aclnn::host::aten {

// Runs the body as plain CPU code: without autograd, autocast and the modes of the calling thread; an error of ATen becomes one of the
// engine, with its message and without its backtrace.
void run_plainly(const std::function<void()>& body);

// What the record says of the data types of a tensor, or of each member of a list, besides those that are listed with the parameter.
struct TensorTypes {
    int8_t same_as = -1;  // the argument whose data type it may have; if `types` lists none, it must
    // The result's data type must be one to which those of all operands convert.
    bool is_operand = false, is_result = false;
};

// A kind for code that does not know its type, so that one function reads the arguments of all entry points. `argument` is the address of
// the C argument, `value` that of the kind's Value.
struct ErasedKind {
    size_t value_size;
    void (*read)(const char* name, const void* argument, void* value);
    void (*destroy)(void* value);
    void (*describe)(JsonObject& arguments, const char* name, const void* argument);
    bool (*visit_tensors)(void* value, const std::function<void(at::Tensor&)>& visit);
    KeptArgument (*keep)(const void* argument);
    enum class Handle : uint8_t { other, scalar, tensor, tensors } handle;
    bool is_written;  // whether phase 2 writes its tensors
    // The tensor that is read, or that is written and not read; null if there is none, or if it is in a form of its own.
    const at::Tensor* (*input)(const void* value);
    const at::Tensor* (*output)(const void* value);
    // Each is null unless the kind is one of dimensions, one that decides how phase 2 launches the operator, or one of a handle.
    void (*require_dims)(const char* name, const void* argument, uint64_t rank) = nullptr;
    void (*set_launch)(aclOpExecutor& executor, const void* value) = nullptr;
    void (*watch)(aclOpExecutor& executor, const char* name, const void* argument) = nullptr;

    bool is_tensors() const { return handle >= Handle::tensor; }
};

template <class Handle>
constexpr ErasedKind::Handle kHandle = std::is_same_v<Handle, const aclScalar*>              ? ErasedKind::Handle::scalar
                                       : std::is_convertible_v<Handle, const aclTensor*>     ? ErasedKind::Handle::tensor
                                       : std::is_convertible_v<Handle, const aclTensorList*> ? ErasedKind::Handle::tensors
                                                                                             : ErasedKind::Handle::other;

template <class Kind>
struct Erased {
    using Handle = typename Kind::Handle;
    using Value = typename Kind::Value;
    static constexpr bool kIsWritten = std::is_same_v<Handle, aclTensor*> || requires { Kind::writes_members; };
    static constexpr bool kIsHandle = std::is_pointer_v<Handle> && std::is_class_v<std::remove_pointer_t<Handle>>;

    static const at::Tensor* input(const void* value) {
        return std::is_same_v<Kind, kind::In> ? static_cast<const at::Tensor*>(value) : nullptr;
    }
    static const at::Tensor* output(const void* value) {
        if constexpr (std::is_same_v<Kind, kind::Out>) return static_cast<const at::Tensor*>(value);
        if constexpr (std::is_same_v<Kind, kind::OptOut>)
            if (const auto& given = *static_cast<const std::optional<at::Tensor>*>(value)) return &*given;
        return nullptr;
    }
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
        ErasedKind erased{sizeof(Value), read, destroy, describe, visit, keep, kHandle<Handle>, kIsWritten, input, output};
        if constexpr (requires { Kind::require_dims; })
            erased.require_dims = [](const char* name, const void* argument, uint64_t rank) {
                Kind::require_dims(name, handle(argument), rank);
            };
        if constexpr (requires { Kind::set_launch; })
            erased.set_launch = [](aclOpExecutor& executor, const void* value) {
                Kind::set_launch(executor, *static_cast<const Value*>(value));
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
    const TensorTypes* types;
    const size_t* offsets;  // where each list begins in the values; the last number is their end
    size_t count;
    void (*check)(const Adapter& adapter, char* values);
    void (*body)(const Adapter& adapter, char* values);
    uint64_t (*type_signature)(char* values);  // see trial.h
    int starts_from;                           // the argument that is copied to the output before the body; the two may be one; or -1
    bool is_filled;                            // each element gets the same value, so elements of the output may share memory
    bool computes_first;                       // the body computes all results before it writes one
};

constexpr size_t kValueAlignment = 16;
constexpr size_t offset_behind(size_t offset, size_t value_size) {
    return offset + (value_size + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

// Phase 1 of any adapter, with the addresses of its arguments. The adapter must live as long as the executors that it makes.
aclnnStatus prepare(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept;

// The value of a parameter that only another version of the entry point has.
template <class Kind>
typename Kind::Parameter absent() {
    static std::remove_cvref_t<typename Kind::Parameter> none{};
    return none;
}

// The check of calls for which a source defines none.
void check(const auto&) {}

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
    // An instantiation for each entry point, so that values which no data type depends on cost nothing.
    static uint64_t type_signature(char* values) { return type_signature(values, std::index_sequence_for<Kinds...>{}); }
    template <size_t... I>
    static uint64_t type_signature(char* values, std::index_sequence<I...>) {
        uint64_t signature = 0;
        (add_type_signature(signature, *reinterpret_cast<const typename Kinds::Value*>(values + offsets[I])), ...);
        return signature;
    }
};

}  // namespace torch_aclnn::host::aten
