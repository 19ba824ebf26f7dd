// How libopapi calls the entry points of libaclnn_math, which needs torch's libraries and is not loaded before one of them is called.
#pragma once

#include <atomic>

namespace torch_aclnn::host {

// Returns the function of that name in libaclnn_math; null, with a message of the calling thread, where it does not load.
void* find_in_aclnn_math(const char* function) noexcept;

// Looks the function up once: `target` is the caller's own. This is no template, of which each of a thousand functions would have one.
inline void* find_once(std::atomic<void*>& target, const char* function) noexcept {
    void* found = target.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    found = find_in_aclnn_math(function);
    target.store(found, std::memory_order_release);
    return found;
}

}  // namespace torch_aclnn::host
