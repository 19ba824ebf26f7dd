// torch_aclnn/custom_operator.h for C++17: phase 1 of an entry point names its tensors and computes in a lambda, which takes what else it
// needs with it.
//
//     extern "C" aclnnStatus aclnnScaleGetWorkspaceSize(const aclTensor* self, double factor, aclTensor* out, uint64_t* workspaceSize,
//                                                       aclOpExecutor** executor) {
//         const auto compute = [factor](const torchAclnnTensor* tensors) {
//             const torchAclnnTensor &self = tensors[0], &out = tensors[1];
//             ...
//         };
//         return torch_aclnn::first_phase("aclnnScale", {{"self", self}, {"out", out}}, compute, workspaceSize, executor);
//     }
//     TORCH_ACLNN_SECOND_PHASE(aclnnScale)
#pragma once

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "torch_aclnn/custom_operator.h"

namespace torch_aclnn {

// A tensor that is not constant is one that the operator writes.
struct Argument : torchAclnnArgument {
    Argument(const char* name, const aclTensor* tensor) : torchAclnnArgument{name, tensor, 0} {}
    Argument(const char* name, aclTensor* tensor) : torchAclnnArgument{name, tensor, 1} {}
};
static_assert(sizeof(Argument) == sizeof(torchAclnnArgument));

// Returns the elements of an array of that type; a null array has none.
template <class Element>
std::vector<Element> elements(const void* array) {
    uint64_t count = 0;
    aclDataType type = ACL_DT_UNDEFINED;
    const auto* const first = static_cast<const Element*>(torchAclnnHostContent(array, &count, &type));
    return aclDataTypeSize(type) == sizeof(Element) ? std::vector<Element>(first, first + count) : std::vector<Element>();
}

// What `compute` throws refuses the call, with the text of a std::exception.
template <class Compute>
aclnnStatus first_phase(const char* name, std::initializer_list<Argument> arguments, Compute compute, uint64_t* workspace_size,
                        aclOpExecutor** executor) noexcept {
    auto* const kept = new (std::nothrow) Compute(std::move(compute));
    const auto call = [](void* context, const torchAclnnTensor* tensors, char* message, size_t capacity) -> int {
        try {
            (*static_cast<Compute*>(context))(tensors);
            return 0;
        } catch (const std::exception& error) {
            std::snprintf(message, capacity, "%s", error.what());
        } catch (...) {
            std::snprintf(message, capacity, "an exception that is no std::exception");
        }
        return 1;
    };
    const auto destroy = [](void* context) { delete static_cast<Compute*>(context); };
    return torchAclnnHostFirstPhase(name, arguments.begin(), arguments.size(), kept != nullptr ? +call : nullptr, kept, destroy,
                                    workspace_size, executor);
}

}  // namespace torch_aclnn

#define TORCH_ACLNN_SECOND_PHASE(name)                                                                                                   \
    extern "C" __attribute__((visibility("default"))) aclnnStatus name(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, \
                                                                       aclrtStream stream) {                                             \
        return torchAclnnHostSecondPhase(#name, workspace, workspaceSize, executor, stream);                                             \
    }
