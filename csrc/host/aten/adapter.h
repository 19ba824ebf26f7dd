// Entry points on ATen's CPU kernels. An adapter is a signature and a body:
//
//     ATEN_ENTRY(aclnnAdd, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
//         at::add_out(out, self, other, alpha);
//     }
//
// It exports aclnnAddGetWorkspaceSize and aclnnAdd. The kinds are those of kinds.h; the names are CANN's and appear in the error texts.
#pragma once

#include <tuple>
#include <utility>

#include "host/aten/for_each.h"
#include "host/aten/kinds.h"
#include "host/opapi/executor.h"

namespace torch_aclnn::host::aten {

// Runs the body as plain CPU code: without autograd, autocast and the modes of the calling thread; an ATen error becomes a TaskError.
void run_plainly(const char* entry_point, const std::function<void()>& body);

template <class... Kinds>
struct Adapter {
    using Body = void (*)(typename Kinds::Parameter...);
    using Names = std::array<const char*, sizeof...(Kinds)>;

    static aclnnStatus phase1(const char* entry_point, const Names& names, Body body, typename Kinds::Handle... handles,
                              uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
        return run_phase1(entry_point, workspace_size, executor, [&] {
            const auto read_all = [&]<size_t... I>(std::index_sequence<I...>) {
                return std::tuple<typename Kinds::Value...>{Kinds::read(names[I], handles)...};
            };
            auto compute = [entry_point, body, values = read_all(std::index_sequence_for<Kinds...>{})](const aclOpExecutor&) mutable {
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

#define ATEN_ENTRY(entry_point, ...)                                                                                                 \
    static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__));                                         \
    extern "C" TORCH_ACLNN_HOST_API aclnnStatus entry_point##GetWorkspaceSize(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_HANDLE, __VA_ARGS__), \
                                                                              uint64_t* workspaceSize, aclOpExecutor** executor) {   \
        using Entry = ::torch_aclnn::host::aten::Adapter<TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_KIND, __VA_ARGS__)>;                       \
        return Entry::phase1(#entry_point, {TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_NAME, __VA_ARGS__)}, entry_point##Body,                 \
                             TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_ARGUMENT, __VA_ARGS__), workspaceSize, executor);                      \
    }                                                                                                                                \
    extern "C" TORCH_ACLNN_HOST_API TORCH_ACLNN_PHASE2(                                                                              \
        entry_point, aclrtStream) static void entry_point##Body(TORCH_ACLNN_FOR_EACH(TORCH_ACLNN_PARAMETER, __VA_ARGS__))
