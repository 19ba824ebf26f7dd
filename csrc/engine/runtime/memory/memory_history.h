// Where device memory is and was, for messages and reports; AllocationMap answers whether an address is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {

struct MemoryRecord {
    uintptr_t begin;
    size_t size;
    int device;
    const char* made_by;  // the C function
    bool is_freed;
    CallStack made_at, freed_at;  // with TORCH_ACLNN_HOST_MODE=isolate or leaks
    uint64_t freed_before = 0;    // how many blocks were freed before it
};

class MemoryHistory {
   public:
    void add(uintptr_t begin, size_t size, int device, const char* made_by);
    void free(uintptr_t begin);
    bool was_freed(const void* address) const;
    // Forgets freed memory at these addresses, where other memory of the process may now be.
    void forget_freed(uintptr_t begin, size_t size);

    // Returns "0x..., which is 16 bytes into an allocation of 64", "..., which was freed", or "..., which is in no allocation of a device".
    std::string describe(const void* address) const;

    // Calls action(record) with the one that the address is in or that ends before it, or with null; for a signal handler. Returns false if
    // other threads are changing the records.
    bool try_find(uintptr_t address, auto&& action) const noexcept {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) return false;
        action(nearest(address));
        return true;
    }

    // Calls action(record) for each allocation that has not been freed.
    void for_each_live(auto&& action) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& entry : records_)
            if (!entry.second.is_freed) action(entry.second);
    }

   private:
    const MemoryRecord* nearest(uintptr_t address) const noexcept;
    void forget_freed_locked(uintptr_t begin, size_t size);

    mutable std::mutex mutex_;
    std::map<uintptr_t, MemoryRecord> records_;
    std::deque<uintptr_t> freed_;  // addresses of freed memory, in the order in which it was freed
    uint64_t forgotten_ = 0;       // how many have been removed from the front
};

inline constexpr auto& memory_history = lasting<MemoryHistory>;

}  // namespace torch_aclnn::host
