// Entry points on ATen's CPU kernels. A source file names the family that its entry points belong to, which is their section in
// docs/coverage.md, and an adapter is a signature and a body:
//
//     ATEN_FAMILY("pointwise unary")
//
//     ATEN_ENTRY(aclnnSqrt, NUMBERS, (In, self), (Out, out)) {
//         at::sqrt_out(out, self);
//     }
//
// It exports aclnnSqrtGetWorkspaceSize and aclnnSqrt. The first argument after the name is what the documents list as data types of the
// first tensor (dtypes.h). The kinds are those of kinds.h and attributes.h; the names are CANN's and appear in the error messages.
//
// Phase 1 reads all arguments, which checks each of them by its kind; then the data type and the dimensions that name one of the first
// tensor's. What must hold between arguments is an expression of their names (relations.h), which phase 1 evaluates last:
//
//     ATEN_CHECKED_ENTRY(aclnnForeachSqrt, FLOATING, require_as_many("x", x, "out", out), (Tensors, x), (Tensors, out)) {
//         ...
//     }
//
// The body runs in phase 2. An Error from there keeps its code up to the synchronisation that reports it.
#pragma once

#include <tuple>
#include <utility>

#include "engine/aten/adapter/attributes.h"
#include "engine/aten/adapter/for_each.h"
#include "engine/aten/adapter/kinds.h"
#include "engine/aten/adapter/relations.h"
#include "engine/opapi/checks.h"

namespace torch_aclnn::host::aten {

// Runs the body as plain CPU code: without autograd, autocast and the modes of the calling thread; an error of ATen becomes one of the
// engine, with its message and without its backtrace.
void run_plainly(const std::function<void()>& body);

// The first of the handles that is a tensor or a list of tensors: checks its data type, and returns its number of dimensions (of a list,
// its first member's). A null stands for "not given" here.
template <class Handle, class... Rest>
uint64_t require_first_dtype(const EntryPoint& entry, size_t i, Handle handle, Rest... rest) {
    if constexpr (std::is_convertible_v<Handle, const aclTensor*>) {
        if (handle == nullptr) return kMaxRank;
        require_dtype({entry.parameter(i), handle}, DTypes::of_bits(entry.data_types()));
        return handle->rank();
    } else if constexpr (std::is_convertible_v<Handle, const aclTensorList*>) {
        for (const auto& member : handle->members) {
            require_dtype({entry.parameter(i), member.get()}, DTypes::of_bits(entry.data_types()));
        }
        return handle->members.empty() ? kMaxRank : handle->members[0]->rank();
    } else {
        return require_first_dtype(entry, i + 1, rest...);
    }
}

// A value that decides how phase 2 launches the operator has a function of its own (collective.h).
template <class Value>
void set_launch(aclOpExecutor&, const Value&) {}

// Numbers and texts are passed by value; handles must live until phase 2.
template <class Argument>
void watch_if_handle(aclOpExecutor& executor, const char* name, Argument argument) {
    if constexpr (std::is_pointer_v<Argument> && std::is_class_v<std::remove_pointer_t<Argument>>) executor.watch(name, argument);
}

template <class... Kinds>
struct Adapter {
    using Function = void (*)(typename Kinds::Parameter...);

    static aclnnStatus phase1(const EntryPoint& entry, Function check, Function body, typename Kinds::Handle... handles,
                              uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
        const auto describe = [&](JsonObject& arguments) {
            size_t i = 0;
            (add_argument(arguments, entry.parameter(i++), handles), ...);
        };
        const auto prepare = [&] {
            const auto read_all = [&]<size_t... I>(std::index_sequence<I...>) {
                return std::tuple<typename Kinds::Value...>{Kinds::read(entry.parameter(I), handles)...};
            };
            auto values = read_all(std::index_sequence_for<Kinds...>{});
            const uint64_t rank = require_first_dtype(entry, 0, handles...);
            size_t i = 0;
            (require_dims_of<Kinds>(entry.parameter(i++), handles, rank), ...);
            std::apply(check, values);
            auto made = std::make_unique<aclOpExecutor>(entry.name(), std::initializer_list<Named>{}, std::initializer_list<Named>{},
                                                        aclOpExecutor::Compute());
            std::apply([&](const auto&... value) { (set_launch(*made, value), ...); }, values);
            made->compute = [body, values = std::move(values)](const aclOpExecutor&) mutable {
                run_plainly([&] { std::apply(body, values); });
            };
            made->watched.reserve(sizeof...(handles));
            i = 0;
            (watch_if_handle(*made, entry.parameter(i++), handles), ...);
            return made;
        };
        return run_phase1(entry.name(), workspace_size, executor, prepare, describe);
    }
};

}  // namespace torch_aclnn::host::aten

#define TORCH_ACLNN_KIND(type, name) ::torch_aclnn::host::aten::kind::type
#define TORCH_ACLNN_HANDLE(type, name) ::torch_aclnn::host::aten::kind::type::Handle name
#define TORCH_ACLNN_PARAMETER(type, name) [[maybe_unused]] ::torch_aclnn::host::aten::kind::type::Parameter name
#define TORCH_ACLNN_DESCRIPTION(type, name) {#type, #name, ::torch_aclnn::host::aten::kind::type::nullable}
#define TORCH_ACLNN_ARGUMENT(type, name) name

#define ATEN_FAMILY(family) static constexpr const char kAtenFamily[] = family;
#define ATEN_ENTRY(entry_point, dtypes, ...) ATEN_CHECKED_ENTRY(entry_point, dtypes, void(), __VA_ARGS__)
#define ATEN_CHECKED_ENTRY(entry_point, dtypes, check, ...)                                                                          \
    static void entry_point##Check(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__)) {                                       \
        using namespace ::torch_aclnn::host::aten;                                                                                   \
        check;                                                                                                                       \
    }                                                                                                                                \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__));                                         \
    static constexpr torchAclnnParameter entry_point##Parameters[] = {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_DESCRIPTION, __VA_ARGS__)};   \
    static ::torch_aclnn::host::EntryPoint entry_point##Entry = [] {                                                                 \
        using namespace ::torch_aclnn::host;                                                                                         \
        return EntryPoint(#entry_point, kAtenFamily, (dtypes).bits(), entry_point##Parameters);                                      \
    }();                                                                                                                             \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point##GetWorkspaceSize(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_HANDLE, __VA_ARGS__), \
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor) {   \
        using Entry = ::torch_aclnn::host::aten::Adapter<TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_KIND, __VA_ARGS__)>;                       \
        return Entry::phase1(entry_point##Entry, entry_point##Check, entry_point##Body,                                              \
                             TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ARGUMENT, __VA_ARGS__), workspaceSize, executor);                      \
    }                                                                                                                                \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,        \
                                                            aclrtStream stream) {                                                    \
        return ::torch_aclnn::host::run_phase2(entry_point##Entry, workspace, workspaceSize, executor, stream);                      \
    }                                                                                                                                \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__))
