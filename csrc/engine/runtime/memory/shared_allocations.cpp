#include "engine/runtime/memory/shared_allocations.h"

#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/share.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

// Puts a range of the file where the allocation's memory is, with the same content.
static void replace_memory(const Block& block, int64_t offset, size_t pages) {
    void* const address = reinterpret_cast<void*>(block.base);
    bool is_done = false;
    while_unused(address, pages, [&] {
        void* const memory = host_view(address);
        const MemoryFile& file = *MemoryFile::own();
        is_done = file.write(offset, memory, pages) && file.map(memory, offset, pages);
    });
    if (is_done) return;
    MemoryFile::own()->give_back(offset, pages);
    throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", pages, " bytes"));
}

SharedAllocations::Allocation& SharedAllocations::moved(const Block& block) {
    const auto found = allocations_.find(block.base);
    if (found != allocations_.end()) return found->second;
    const size_t pages = round_up_to_pages(block.size);
    const int64_t offset = MemoryFile::own()->extend(pages);
    replace_memory(block, offset, pages);
    is_used_ = true;
    return allocations_.emplace(block.base, Allocation{offset, pages, {}}).first->second;
}

Shared SharedAllocations::share(const Block& block, uintptr_t address, size_t size, bool to_all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Allocation& allocation = moved(block);
    const int64_t offset = allocation.offset + static_cast<int64_t>(address - block.base);
    const Shared shared = torch_aclnn::host::share(ShareKind::allocation, offset, size, block.device, to_all);
    allocation.numbers.push_back(shared.number);
    return shared;
}

bool SharedAllocations::remove(uintptr_t base) noexcept {
    if (!is_used_) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocations_.find(base);
    if (found == allocations_.end()) return false;
    const Allocation& allocation = found->second;
    for (const uint64_t number : allocation.numbers) (void)end_share(number, ShareKind::allocation);
    MemoryFile::own()->give_back(allocation.offset, allocation.pages);
    allocations_.erase(found);
    return true;
}

}  // namespace torch_aclnn::host
