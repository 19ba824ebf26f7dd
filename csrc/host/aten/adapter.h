// Entry points on ATen's CPU kernels. An adapter is a signature and a body:
//
//     ATEN_ENTRY(aclnnAdd, NUMBERS, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
//         at::add_out(out, self, other, alpha);
//     }
//
// It exports aclnnAddGetWorkspaceSize and aclnnAdd. The first argument after the name is what the documents list as data types of the first
// tensor (dtypes.h). The kinds are those of kinds.h; the names are CANN's and appear in the error texts.
#pragma once

#include <tuple>
#include <utility>

#include "host/aten/for_each.h"
#include "host/aten/kinds.h"
#include "host/opapi/checks.h"

namespace torch_aclnn::host::aten {

// Runs the body as plain CPU code: without autograd, autocast and the modes of the calling thread; an ATen error becomes a TaskError.
void run_plainly(const char* entry_point, const std::function<void()>& body);

// Checks the first of the handles that is a tensor or a list of tensors. A null stands for "not given" here.
template <class Handle, class... Rest>
void require_first_dtype(DTypes listed, const char* const* names, Handle handle, Rest... rest) {
    if constexpr (std::is_convertible_v<Handle, const aclTensor*>) {
        if (handle != nullptr) require_dtype({*names, handle}, listed);
    } else if constexpr (std::is_convertible_v<Handle, const aclTensorList*>) {
        for (const auto& member : handle->members)
            if (member) require_dtype({*names, member.get()}, listed);
    } else {
        require_first_dtype(listed, names + 1, rest...);
    }
}

template <class... Kinds>
struct Adapter {
    using Body = void (*)(typename Kinds::Parameter...);
    using Names = std::array<const char*, sizeof...(Kinds)>;

    static aclnnStatus phase1(const char* entry_point, DTypes listed, const Names& names, Body body, typename Kinds::Handle... handles,
                              uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
        return run_phase1(entry_point, workspace_size, executor, [&] {
            const auto read_all = [&]<size_t... I>(std::index_sequence<I...>) {
                return std::tuple<typename Kinds::Value...>{Kinds::read(names[I], handles)...};
            };
            auto values = read_all(std::index_sequence_for<Kinds...>{});
            require_first_dtype(listed, names.data(), handles...);
            auto compute = [entry_point, body, values = std::move(values)](const aclOpExecutor&) mutable {
                run_plainly(entry_point, [&] { std::apply(body, values); });
            };
            return std::make_unique<aclOpExecutor>(entry_point, std::initializer_list<const aclTensor*>{},
                                                   std::initializer_list<const aclTensor*>{}, std::move(compute));
        });
    }
};

}  // namespace torch_aclnn::host::aten

#define TORCH_ACLNN_KIND(type, name) ::torch_aclnn::host::aten::kind::type
#define TORCH_ACLNN_HANDLE(type, name) ::torch_aclnn::host::aten::kind::type::Handle name
#define TORCH_ACLNN_PARAMETER(type, name) [[maybe_unused]] ::torch_aclnn::host::aten::kind::type::Parameter name
#define TORCH_ACLNN_NAME(type, name) #name
#define TORCH_ACLNN_ARGUMENT(type, name) name

#define ATEN_ENTRY(entry_point, dtypes, ...)                                                                                         \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__));                                         \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point##GetWorkspaceSize(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_HANDLE, __VA_ARGS__), \
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor) {   \
        using namespace ::torch_aclnn::host;                                                                                         \
        using Entry = ::torch_aclnn::host::aten::Adapter<TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_KIND, __VA_ARGS__)>;                       \
        return Entry::phase1(#entry_point, dtypes, {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_NAME, __VA_ARGS__)}, entry_point##Body,         \
                             TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ARGUMENT, __VA_ARGS__), workspaceSize, executor);                      \
    }                                                                                                                                \
    extern "C" TORCH_ACLNN_HOST_API TORCH_ACLNN_PHASE2(                                                                              \
        entry_point, aclrtStream) static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__))
