// Memory of aclrtMalloc that other processes may use: it is moved into the process's file when it is shared first. All memory could be
// there from its beginning, but a file has no huge pages.
#pragma once

#include <vector>

#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/share.h"

namespace torch_aclnn::host {

class SharedAllocations {
   public:
    // Shares `size` bytes of an allocation from the address on.
    Shared share(const Block& block, uintptr_t address, size_t size, bool to_all);
    // Ends the sharing, before the memory is given back. Returns false if it was not shared.
    bool remove(uintptr_t base) noexcept;

   private:
    struct Allocation {
        int64_t offset;
        size_t pages;
        std::vector<uint64_t> numbers;
    };
    Allocation& moved(const Block& block);

    std::mutex mutex_;
    std::map<uintptr_t, Allocation> allocations_;
    std::atomic<bool> is_used_{false};
};

inline constexpr auto& shared_allocations = lasting<SharedAllocations>;

}  // namespace torch_aclnn::host
