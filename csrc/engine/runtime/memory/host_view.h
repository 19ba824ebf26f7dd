// Where the engine reads and writes the memory that a device address stands for. Everything that touches device memory asks here.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// The addresses of device memory. With TORCH_ACLNN_HOST_MODE=isolate nobody can read or write there, and the memory is `distance` further.
struct DeviceRange {
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> distance{0};
    std::atomic<uintptr_t> size{0};  // set last; 0 before the first allocation

    bool contains(uintptr_t address) const {
        const uintptr_t bytes = size.load(std::memory_order_acquire);
        return address - begin.load(std::memory_order_relaxed) < bytes;
    }
};
extern TORCH_ACLNN_HOST_API DeviceRange device_range;

// Returns the address itself, except for device memory that is isolated.
template <class T>
T* host_view(T* address) {
    const auto number = reinterpret_cast<uintptr_t>(address);
    return device_range.contains(number) ? reinterpret_cast<T*>(number + device_range.distance.load(std::memory_order_relaxed)) : address;
}

}  // namespace torch_aclnn::host
