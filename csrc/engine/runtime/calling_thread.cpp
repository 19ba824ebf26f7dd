#include "engine/runtime/calling_thread.h"

#include <atomic>

namespace torch_aclnn::host {

static thread_local int thread_device = -1;
static std::atomic<int> default_device{-1};

uint64_t thread_number() noexcept {
    static std::atomic<uint64_t> newest{0};
    thread_local const uint64_t number = newest.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

int current_device_index() noexcept {
    return thread_device >= 0 ? thread_device : default_device.load(std::memory_order_relaxed);
}

void set_current_device_index(int device) noexcept {
    thread_device = device;
}

void set_default_device(int device) noexcept {
    default_device = device;
}

}  // namespace torch_aclnn::host
