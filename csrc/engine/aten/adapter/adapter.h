// Entry points on ATen's CPU kernels. A source file names the family that its entry points belong to, which is their section in
// docs/coverage.md, and an adapter is a signature and a body:
//
//     #define ATEN_FAMILY "pointwise unary"
//
//     ATEN_ENTRY(aclnnSqrt, NUMBERS, (In, self), (Out, out, like(self))) {
//         at::sqrt_out(out, self);
//     }
//
// It exports aclnnSqrtGetWorkspaceSize and aclnnSqrt. The first argument after the name is what the documents list as data types of the
// first tensor (dtypes.h); those of others are a matter of their kinds (Indices), or of the statement about them. The kinds are those of
// kinds.h and attributes.h; the names are CANN's and appear in the error messages. Behind the name of each output stands the shape that it
// must have (expected.h).
//
// Phase 1 reads all arguments, which checks each of them by its kind; then the data type and the dimensions that name one of the first
// tensor's. What must hold between arguments is an expression of their names (relations.h), which phase 1 evaluates last:
//
//     ATEN_CHECKED_ENTRY(aclnnForeachSqrt, FLOATING, require_as_many("x", x, "out", out), (Tensors, x), (TensorsOut, out)) {
//         ...
//     }
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
#include "engine/aten/adapter/trial.h"
#include "engine/aten/adapter/views.h"
#include "engine/opapi/checks.h"
#include "engine/opapi/for_each.h"

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
    bool is_scalar;  // its handle is an aclScalar
    DTypes dtypes;   // of tensors of any type, none
    // Null unless the kind is of dimensions, decides how phase 2 launches the operator, is of tensors, or is a handle.
    void (*require_dims)(const char* name, const void* argument, uint64_t rank) = nullptr;
    void (*set_launch)(aclOpExecutor& executor, const void* value) = nullptr;
    uint64_t (*require_dtype)(DTypes listed, const char* name, const void* argument) = nullptr;
    void (*watch)(aclOpExecutor& executor, const char* name, const void* argument) = nullptr;
};

// The data types of a kind that has its own, and the kind that it is otherwise.
template <class Kind>
constexpr DTypes dtypes_of() {
    if constexpr (requires { Kind::dtypes; })
        return Kind::dtypes;
    else
        return NO_DTYPE;
}
template <class Kind>
constexpr const char* plain_name(const char* name) {
    if constexpr (requires { Kind::plain; })
        return Kind::plain;
    else
        return name;
}

template <class Kind>
struct Erased {
    using Handle = typename Kind::Handle;
    using Value = typename Kind::Value;
    static constexpr bool kIsTensors =
        std::is_convertible_v<Handle, const aclTensor*> || std::is_convertible_v<Handle, const aclTensorList*>;
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
        ErasedKind erased{sizeof(Value), read, destroy, describe, visit, keep, std::is_same_v<Handle, const aclScalar*>, dtypes_of<Kind>()};
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
};

// Each value may be of any type.
constexpr size_t kValueAlignment = 16;
constexpr size_t offset_behind(size_t offset, size_t value_size) {
    return offset + (value_size + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

// Phase 1 of any adapter, with the addresses of its arguments. The adapter must live as long as the executors that it makes.
aclnnStatus prepare(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept;

// Each output states its shape.
template <class Kind>
inline constexpr bool kIsOutput =
    (std::is_base_of_v<kind::Out, Kind> && !std::is_base_of_v<kind::InOut, Kind>) ||
    (requires { Kind::writes_members; } && !std::is_base_of_v<kind::TensorsInOut, Kind>) || std::is_base_of_v<kind::OptOut, Kind>;
template <class Kind, bool states>
struct StatesShape {
    static_assert(states || !kIsOutput<Kind>, "an output without its shape: (Out, out, like(self)), see expected.h");
    static void check() {}
};

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

#define TORCH_ACLNN_KIND(type, name, ...) ::torch_aclnn::host::aten::kind::type
#define TORCH_ACLNN_ERASED(type, name, ...) &::torch_aclnn::host::aten::kErased<::torch_aclnn::host::aten::kind::type>
#define TORCH_ACLNN_HANDLE(type, name, ...) ::torch_aclnn::host::aten::kind::type::Handle name
#define TORCH_ACLNN_PARAMETER(type, name, ...) [[maybe_unused]] ::torch_aclnn::host::aten::kind::type::Parameter name
#define TORCH_ACLNN_DESCRIPTION(type, name, ...)                                                 \
    {::torch_aclnn::host::aten::plain_name<::torch_aclnn::host::aten::kind::type>(#type), #name, \
     ::torch_aclnn::host::aten::kind::type::nullable,                                            \
     ::torch_aclnn::host::aten::dtypes_of<::torch_aclnn::host::aten::kind::type>().bits()}
#define TORCH_ACLNN_ADDRESS(type, name, ...) &name
#define TORCH_ACLNN_EXPECTATION(type, name, ...)                                                                \
    (::torch_aclnn::host::aten::StatesShape<::torch_aclnn::host::aten::kind::type, (0 __VA_OPT__(+1))>::check() \
         __VA_OPT__(, require_expected(#name, name, __VA_ARGS__)))

#define ATEN_ENTRY(entry_point, dtypes, ...) ATEN_CHECKED_ENTRY(entry_point, dtypes, void(), __VA_ARGS__)
#define ATEN_CHECKED_ENTRY(entry_point, dtypes, checks, ...)                                                                         \
    static void entry_point##Check(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__)) {                                       \
        using namespace ::torch_aclnn::host::aten;                                                                                   \
        checks;                                                                                                                      \
        TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_EXPECTATION, __VA_ARGS__);                                                                  \
    }                                                                                                                                \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__));                                         \
    static constexpr torchAclnnParameter entry_point##Parameters[] = {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_DESCRIPTION, __VA_ARGS__)};   \
    static ::torch_aclnn::host::EntryPoint entry_point##Entry = [] {                                                                 \
        using namespace ::torch_aclnn::host;                                                                                         \
        return EntryPoint(#entry_point, ATEN_FAMILY, (dtypes).bits(), entry_point##Parameters);                                      \
    }();                                                                                                                             \
    static constexpr const ::torch_aclnn::host::aten::ErasedKind* entry_point##Kinds[] = {                                           \
        TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ERASED, __VA_ARGS__)};                                                                      \
    using entry_point##Arguments = ::torch_aclnn::host::aten::Arguments<TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_KIND, __VA_ARGS__)>;        \
    static constexpr ::torch_aclnn::host::aten::Adapter entry_point##Adapter{entry_point##Entry,                                     \
                                                                             entry_point##Kinds,                                     \
                                                                             entry_point##Arguments::offsets.data(),                 \
                                                                             std::size(entry_point##Kinds),                          \
                                                                             entry_point##Arguments::pass<entry_point##Check>,       \
                                                                             entry_point##Arguments::pass<entry_point##Body>,        \
                                                                             entry_point##Arguments::type_signature};                \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point##GetWorkspaceSize(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_HANDLE, __VA_ARGS__), \
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor) {   \
        const void* const arguments[] = {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ADDRESS, __VA_ARGS__)};                                    \
        return ::torch_aclnn::host::aten::prepare(entry_point##Adapter, arguments, workspaceSize, executor);                         \
    }                                                                                                                                \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,        \
                                                            aclrtStream stream) {                                                    \
        return ::torch_aclnn::host::run_phase2(entry_point##Entry, workspace, workspaceSize, executor, stream);                      \
    }                                                                                                                                \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__))

// For operators whose lengths a captured graph may change, torch_npu asks for the workspace of the longest by a function of its own, with
// the parameters of phase 1. The engine's workspace is one size for all lengths.
#define ATEN_MAX_WORKSPACE(entry_point)                                                                      \
    extern "C" TORCH_ACLNN_HOST_API decltype(entry_point##GetWorkspaceSize) entry_point##GetMaxWorkspaceSize \
        __attribute__((alias(#entry_point "GetWorkspaceSize")));
