// How libopapi calls the entry points of libaclnn_math, which needs torch's libraries and is not loaded before one of them is called.
#pragma once

#include <atomic>

#include "aclnn/acl_meta.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// The function of that name in libaclnn_math; null, with a message of the calling thread, where it does not load.
void* find_in_aclnn_math(const char* function) noexcept;

// Calls the function of the same name and type as `function`.
template <auto function, class... Arguments>
aclnnStatus forward(const char* name, Arguments... arguments) noexcept {
    static std::atomic<decltype(function)> target;
    auto found = target.load(std::memory_order_acquire);
    if (found == nullptr) {
        found = reinterpret_cast<decltype(function)>(find_in_aclnn_math(name));
        if (found == nullptr) return ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
        target.store(found, std::memory_order_release);
    }
    return found(arguments...);
}

}  // namespace torch_aclnn::host
