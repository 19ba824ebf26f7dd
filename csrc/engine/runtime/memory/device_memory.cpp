// Which device's memory an address is in, as operators ask for each of their tensors.

#include "engine/runtime/memory/device_memory.h"

#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_history.h"

namespace torch_aclnn::host {
namespace {

// The block that this thread looked up last. Nearly all tensors of a thread lie in a few large blocks.
struct LastBlock {
    uintptr_t base;
    size_t size;
    int device;
    uint64_t version;
};
thread_local LastBlock last_block;

std::optional<DeviceMemory> look_up(const void* address, size_t wanted) {
    for (AllocationMap* allocations : {&device_memory(), &registered_memory()}) {
        const uint64_t version = device_memory_version();
        const auto block = allocations->find(address);
        if (!block) continue;
        last_block = {block->base, block->size, block->device, version};
        const size_t left = block->base + block->size - reinterpret_cast<uintptr_t>(address);
        return DeviceMemory{left < wanted ? allocations->reach(address, wanted).value_or(left) : left, block->device};
    }
    return std::nullopt;
}

}  // namespace

std::optional<DeviceMemory> device_memory_at(const void* address, size_t wanted) {
    const LastBlock& last = last_block;
    const size_t from_base = reinterpret_cast<uintptr_t>(address) - last.base;  // huge if it is in front of the block
    if (from_base < last.size && last.version == device_memory_version() && last.size - from_base >= wanted)
        return DeviceMemory{last.size - from_base, last.device};
    return look_up(address, wanted);
}

const char* describe_missing_memory(const void* address) {
    return memory_history().was_freed(address) ? "an address of memory that was freed" : "an address that is in no allocation of a device";
}

uint64_t device_memory_version() noexcept {
    return device_memory().version() + registered_memory().version();
}

}  // namespace torch_aclnn::host
