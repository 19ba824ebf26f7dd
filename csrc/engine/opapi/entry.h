// Entry points on the kernels, a row each: what its pages list, and the function that checks a call. The parameters are those of
// contract/parameters.yaml, of which the public header is made, too.
//
//     OPAPI_ENTRY(aclnnCircularPad2dBackward, "padding", OPAPI_OFFER(circular_pad2d, FLOATING, NO_DTYPE), (pad<Padding::circular, 2>))
//
// It exports aclnnCircularPad2dBackwardGetWorkspaceSize and aclnnCircularPad2dBackward. The kinds are those below; the names are
// those of the documents and appear in messages and in the trace.
//
// Phase 1 refuses nulls, handles that are not live and products without the entry point, in this order. Then it calls the function with
// the offer and the arguments, each a Named, an IntArray or a number. That checks the rest, and returns what phase 2 computes, from the
// executor's inputs and outputs: those are the tensors, numbered in the order of the row.
#pragma once

#include "engine/opapi/checks.h"
#include "engine/opapi/executor_cache.h"
#include "engine/opapi/products.h"
#include "vocabulary/parameters.h"

namespace torch_aclnn::host {

using IntArray = NamedPointer<aclIntArray>;
using Compute = aclOpExecutor::Compute;

enum class Use { read, written, value };

// A parameter's C type, and what the engine does with it. Null stands for "not given" where the kind is nullable, unless strict mode asks
// for what the documents say: none of them says it.
template <class HandleType, Use how, bool may_be_null = false>
struct Kind {
    using Handle = HandleType;
    static constexpr Use use = how;
    static constexpr bool nullable = may_be_null;
};

namespace kind {

using In = Kind<const aclTensor*, Use::read>;
using OptIn = Kind<const aclTensor*, Use::read, true>;
using NonConstIn = Kind<aclTensor*, Use::read>;
using Out = Kind<aclTensor*, Use::written>;
using Ints = Kind<const aclIntArray*, Use::value>;
using OptInts = Kind<const aclIntArray*, Use::value, true>;
using Bool = Kind<bool, Use::value>;
using Int = Kind<int64_t, Use::value>;
using Int8 = Kind<int8_t, Use::value>;

}  // namespace kind

// An argument as the function of a row receives it.
inline Named named(const char* name, const aclTensor* tensor) {
    return {name, tensor};
}
inline IntArray named(const char* name, const aclIntArray* array) {
    return {name, array};
}
template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
Number named(const char*, Number number) {
    return number;
}

// A kind for code that does not know its type; `argument` is the address of the C argument.
struct ErasedKind {
    bool nullable;
    void (*require_not_null)(const char* name, const void* argument);
    void (*require_live)(const char* name, const void* argument);
    void (*describe)(JsonObject& arguments, const char* name, const void* argument);
    void (*hand_over)(aclOpExecutor& executor, const char* name, const void* argument);
    KeptArgument (*keep)(const void* argument);
};

template <class KindOfArgument>
struct Erased {
    using Handle = typename KindOfArgument::Handle;
    static constexpr bool kIsHandle = std::is_pointer_v<Handle>;
    static Handle handle(const void* argument) { return *static_cast<const Handle*>(argument); }

    static void require_not_null(const char* name, const void* argument) {
        if constexpr (kIsHandle) host::require_not_null(name, handle(argument));
    }
    static void require_live(const char* name, const void* argument) {
        if constexpr (kIsHandle) host::require_live(name, handle(argument));
    }
    static void describe(JsonObject& arguments, const char* name, const void* argument) { add_argument(arguments, name, handle(argument)); }
    static void hand_over(aclOpExecutor& executor, const char* name, const void* argument) {
        if constexpr (KindOfArgument::use == Use::read) {
            executor.add_input(handle(argument));
            executor.watch(name, static_cast<const aclTensor*>(handle(argument)));
        } else if constexpr (kIsHandle) {
            if constexpr (KindOfArgument::use == Use::written) executor.add_output(handle(argument));
            executor.watch(name, handle(argument));
        }
    }
    static KeptArgument keep(const void* argument) { return KeptArgument::of(handle(argument)); }
    static constexpr ErasedKind kind{KindOfArgument::nullable, require_not_null, require_live, describe, hand_over, keep};
};

struct Call {
    const EntryPoint& entry;
    const Offer& offer;
    const ErasedKind* const* kinds;
    const void* const* arguments;  // the address of each
    size_t count;

    void check() const;
    void describe(JsonObject& line) const;
    std::unique_ptr<aclOpExecutor> executor(Compute compute) const;
    std::unique_ptr<Recipe> recipe(const Compute& compute) const;
};

// `prepare` checks what is the operator's own.
aclnnStatus run_phase1(const Call& call, uint64_t* workspace_size, aclOpExecutor** executor, const auto& prepare) noexcept {
    const auto make = [&] {
        call.check();
        auto made = call.executor(prepare());
        if (is_kept_for_later_calls()) made->recipe = call.recipe(made->compute);
        return made;
    };
    return run_phase1(call.entry.name(), workspace_size, executor, make, [&](JsonObject& line) { call.describe(line); });
}

}  // namespace torch_aclnn::host

// TORCH_ACLNN_FOR_EACH(macro, a, b, c) expands to: macro a, macro b, macro c. The arguments are parenthesised lists.
#define TORCH_ACLNN_PARENS ()
#define TORCH_ACLNN_EXPAND(...) TORCH_ACLNN_EXPAND4(TORCH_ACLNN_EXPAND4(__VA_ARGS__))  // enough for 80 arguments
#define TORCH_ACLNN_EXPAND4(...) TORCH_ACLNN_EXPAND3(TORCH_ACLNN_EXPAND3(TORCH_ACLNN_EXPAND3(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND3(...) TORCH_ACLNN_EXPAND2(TORCH_ACLNN_EXPAND2(TORCH_ACLNN_EXPAND2(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND2(...) TORCH_ACLNN_EXPAND1(TORCH_ACLNN_EXPAND1(TORCH_ACLNN_EXPAND1(__VA_ARGS__)))
#define TORCH_ACLNN_EXPAND1(...) __VA_ARGS__

// A macro cannot call itself. Each step therefore names the next one without calling it, and each of the expansions above resolves one step
// more.
#define TORCH_ACLNN_FOR_EACH(macro, ...) __VA_OPT__(TORCH_ACLNN_EXPAND(TORCH_ACLNN_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define TORCH_ACLNN_FOR_EACH_STEP(macro, first, ...) \
    macro first __VA_OPT__(, TORCH_ACLNN_FOR_EACH_AGAIN TORCH_ACLNN_PARENS(macro, __VA_ARGS__))
#define TORCH_ACLNN_FOR_EACH_AGAIN() TORCH_ACLNN_FOR_EACH_STEP

#define TORCH_ACLNN_ROW_HANDLE(type, name) ::torch_aclnn::host::kind::type::Handle name
#define TORCH_ACLNN_ROW_DESCRIPTION(type, name) {#type, #name, ::torch_aclnn::host::kind::type::nullable, 0}
#define TORCH_ACLNN_ROW_KIND(type, name) &::torch_aclnn::host::Erased<::torch_aclnn::host::kind::type>::kind
#define TORCH_ACLNN_ROW_ADDRESS(type, name) &name
#define TORCH_ACLNN_ROW_NAMED(type, name) ::torch_aclnn::host::named(#name, name)

#define OPAPI_ENTRY(entry_point, family, offer, prepare) \
    TORCH_ACLNN_ENTRY(entry_point, family, offer, prepare, TORCH_ACLNN_PARAMETERS_##entry_point)
#define TORCH_ACLNN_ENTRY(entry_point, family, offer, prepare, ...)                                                                      \
    static constexpr ::torch_aclnn::host::Offer entry_point##Offer = offer;                                                              \
    static constexpr torchAclnnParameter entry_point##Parameters[] = {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ROW_DESCRIPTION, __VA_ARGS__)};   \
    static ::torch_aclnn::host::EntryPoint entry_point##Entry(#entry_point, family, entry_point##Offer.taken().bits(),                   \
                                                              entry_point##Parameters);                                                  \
    static constexpr const ::torch_aclnn::host::ErasedKind* entry_point##Kinds[] = {                                                     \
        TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ROW_KIND, __VA_ARGS__)};                                                                        \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point##GetWorkspaceSize(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ROW_HANDLE, __VA_ARGS__), \
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor) {       \
        const void* const arguments_[] = {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ROW_ADDRESS, __VA_ARGS__)};                                   \
        const ::torch_aclnn::host::Call call_{entry_point##Entry, entry_point##Offer, entry_point##Kinds, arguments_,                    \
                                              std::size(arguments_)};                                                                    \
        return ::torch_aclnn::host::run_phase1(call_, workspaceSize, executor, [&] {                                                     \
            return prepare(entry_point##Offer, TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ROW_NAMED, __VA_ARGS__));                                \
        });                                                                                                                              \
    }                                                                                                                                    \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,            \
                                                            aclrtStream stream) {                                                        \
        return ::torch_aclnn::host::run_phase2(entry_point##Entry, workspace, workspaceSize, executor, stream);                          \
    }
