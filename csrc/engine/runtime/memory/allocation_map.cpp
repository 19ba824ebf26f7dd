#include "engine/runtime/memory/allocation_map.h"

#include <mutex>

#include "engine/runtime/memory/address_arithmetic.h"

namespace torch_aclnn::host {

void AllocationMap::add(const Block& block) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    blocks_[block.base] = block;
    version_.fetch_add(1, std::memory_order_release);
}

std::optional<Block> AllocationMap::remove(const void* address) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto found = blocks_.find(number(address));
    if (found == blocks_.end()) return std::nullopt;
    const Block block = found->second;
    blocks_.erase(found);
    version_.fetch_add(1, std::memory_order_release);
    return block;
}

std::optional<Block> AllocationMap::find(const void* address) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = containing(number(address));
    if (found == blocks_.end()) return std::nullopt;
    return found->second;
}

std::optional<Block> AllocationMap::find_overlap(const void* address, size_t size) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto first = containing(number(address));
    if (first != blocks_.end()) return first->second;
    const auto next = blocks_.lower_bound(number(address));
    if (next != blocks_.end() && next->first - number(address) < size) return next->second;
    return std::nullopt;
}

std::optional<size_t> AllocationMap::reach(const void* address, size_t wanted) const {
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

AllocationMap::Blocks::const_iterator AllocationMap::containing(uintptr_t address) const {
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return blocks_.end();
    --after;
    return address - after->first < after->second.size ? after : blocks_.end();
}

// The map is never destroyed, because memory is still freed while the process exits.
AllocationMap& device_memory() {
    static auto* const once = new AllocationMap;
    return *once;
}

AllocationMap& host_memory() {
    static auto* const once = new AllocationMap;
    return *once;
}

AllocationMap& registered_memory() {
    static auto* const once = new AllocationMap;
    return *once;
}

}  // namespace torch_aclnn::host
