#include "engine/runtime/memory/memory.h"

#include <mutex>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {
namespace {

uintptr_t number(const void* address) {
    return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

void AddressBook::add(const Block& block) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    blocks_[block.base] = block;
    version_.fetch_add(1, std::memory_order_release);
}

std::optional<Block> AddressBook::remove(const void* address) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto found = blocks_.find(number(address));
    if (found == blocks_.end()) return std::nullopt;
    const Block block = found->second;
    blocks_.erase(found);
    version_.fetch_add(1, std::memory_order_release);
    return block;
}

std::optional<Block> AddressBook::find(const void* address) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = containing(number(address));
    if (found == blocks_.end()) return std::nullopt;
    return found->second;
}

std::optional<Block> AddressBook::find_overlap(const void* address, size_t size) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto first = containing(number(address));
    if (first != blocks_.end()) return first->second;
    const auto next = blocks_.lower_bound(number(address));
    if (next != blocks_.end() && next->first - number(address) < size) return next->second;
    return std::nullopt;
}

std::optional<size_t> AddressBook::reach(const void* address, size_t wanted) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto block = containing(number(address));
    if (block == blocks_.end()) return std::nullopt;
    uintptr_t end = block->first + block->second.size;
    while (end - number(address) < wanted) {
        const bool owned = block->second.owned;
        ++block;
        if (owned || block == blocks_.end() || block->first != end || block->second.owned) break;
        end += block->second.size;
    }
    return end - number(address);
}

AddressBook::Blocks::const_iterator AddressBook::containing(uintptr_t address) const {
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return blocks_.end();
    --after;
    return address - after->first < after->second.size ? after : blocks_.end();
}

// Never destroyed: memory is still freed while the process exits.
AddressBook& device_memory() {
    static auto* const once = new AddressBook;
    return *once;
}

AddressBook& host_memory() {
    static auto* const once = new AddressBook;
    return *once;
}

AddressBook& registered_memory() {
    static auto* const once = new AddressBook;
    return *once;
}

namespace {

// What this thread looked up last. Nearly all tensors of a thread lie in a few large blocks.
struct LastBlock {
    uintptr_t base;
    size_t size;
    int device;
    uint64_t version;
};
thread_local LastBlock last_block;

std::optional<DeviceMemory> look_up(const void* address, size_t wanted) {
    for (AddressBook* book : {&device_memory(), &registered_memory()}) {
        const uint64_t version = device_memory_version();
        const auto block = book->find(address);
        if (!block) continue;
        last_block = {block->base, block->size, block->device, version};
        const size_t left = block->base + block->size - number(address);
        return DeviceMemory{left < wanted ? book->reach(address, wanted).value_or(left) : left, block->device};
    }
    return std::nullopt;
}

}  // namespace

std::optional<DeviceMemory> device_memory_at(const void* address, size_t wanted) {
    const LastBlock& last = last_block;
    const size_t from_base = number(address) - last.base;  // beyond the size for an address in front of the block
    if (from_base < last.size && last.version == device_memory_version() && last.size - from_base >= wanted)
        return DeviceMemory{last.size - from_base, last.device};
    return look_up(address, wanted);
}

uint64_t device_memory_version() noexcept {
    return device_memory().version() + registered_memory().version();
}

}  // namespace torch_aclnn::host
