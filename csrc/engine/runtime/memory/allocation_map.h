// Which addresses are memory of a device, so that a copy that would run past an allocation is refused and not carried out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "engine/runtime/diagnostics/call_stack.h"

namespace torch_aclnn::host {

struct Block {
    uintptr_t base;
    size_t size;
    int device;
    bool owned;                                          // the heap owns it; otherwise it is mapped or belongs to the user
    std::shared_ptr<const CallStack> made_at = nullptr;  // for host memory, with TORCH_ACLNN_HOST_MODE=leaks
};

class AllocationMap {
   public:
    void add(const Block& block);
    // Takes out the block that starts at the address, if there is one.
    std::optional<Block> remove(const void* address);
    std::optional<Block> find(const void* address) const;  // the block that contains the address
    std::optional<Block> find_overlap(const void* address, size_t size) const;
    // Returns how far the memory goes on from the address, looking no further than `wanted`; nothing if the address is in no block. Blocks
    // that touch count as one, because a segment that grows is mapped piece by piece.
    std::optional<size_t> reach(const void* address, size_t wanted) const;
    void for_each(auto&& action) const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        for (const auto& entry : blocks_) action(entry.second);
    }
    // Returns another number after each change.
    uint64_t version() const { return version_.load(std::memory_order_acquire); }

   private:
    using Blocks = std::map<uintptr_t, Block>;
    Blocks::const_iterator containing(uintptr_t address) const;

    mutable std::shared_mutex mutex_;
    Blocks blocks_;
    std::atomic<uint64_t> version_{0};
};

AllocationMap& device_memory();      // aclrtMalloc, aclrtMapMem
AllocationMap& host_memory();        // aclrtMallocHost
AllocationMap& registered_memory();  // aclrtHostRegister: host memory that the device sees

}  // namespace torch_aclnn::host
