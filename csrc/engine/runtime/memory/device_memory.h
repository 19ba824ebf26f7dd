// Device memory, as operators see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Memory that a device sees: from aclrtMalloc, aclrtMapMem or aclrtHostRegister.
struct DeviceMemory {
    size_t reach;  // bytes from the address to the end of its allocation
    int device;    // -1: registered host memory, which all devices see
};
// Returns the memory at the address, looking no further than `wanted` bytes where allocations touch; nothing if it is in no allocation.
TORCH_ACLNN_HOST_API std::optional<DeviceMemory> device_memory_at(const void* address, size_t wanted);
// Describes an address without an allocation, for messages.
TORCH_ACLNN_HOST_API const char* describe_missing_memory(const void* address);
// Returns another number whenever memory that a device sees has come or gone.
TORCH_ACLNN_HOST_API uint64_t device_memory_version() noexcept;

// Device memory that a task reads or writes. The name is the parameter's.
struct MemoryAccess {
    const char* name;
    const void* data;
    size_t bytes;
    bool is_write;
    bool keeps = false;  // for written memory: the task also reads it, or leaves a part unchanged
};

}  // namespace torch_aclnn::host
