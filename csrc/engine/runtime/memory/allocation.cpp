// Device memory: ordinary memory of the machine, out of a budget per device.

#include <algorithm>
#include <deque>
#include <mutex>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/access_history.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/fault_report.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_history.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/poison.h"
#include "engine/runtime/memory/shared_allocations.h"

namespace torch_aclnn::host {
namespace {

void return_pages(uintptr_t begin, size_t pages) {
    take_memory_away(begin, pages);
    give_back_addresses(begin);
}

// Memory that was freed a while ago and is used again, because fresh memory costs a fault for each page. There is none with
// TORCH_ACLNN_HOST_MODE=isolate, where freed memory is gone.
class FreedMemory {
   public:
    // Returns a freed block of this number of pages, or 0. The blocks that were freed last are not handed out again, so that a use of freed
    // memory meets no new data for a while.
    uintptr_t take(size_t pages) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (blocks_.size() <= kLeftAlone) return 0;
        const auto end = blocks_.end() - kLeftAlone;
        const auto found = std::find_if(blocks_.begin(), end, [&](const Block& block) { return block.pages == pages; });
        if (found == end) return 0;
        const uintptr_t begin = found->begin;
        bytes_ -= pages;
        blocks_.erase(found);
        return begin;
    }
    // Keeps the block, unless it is large, and gives the oldest blocks back to the machine when there is too much.
    void put(uintptr_t begin, size_t pages) {
        if (pages > kLargest) return return_pages(begin, pages);
        const std::lock_guard<std::mutex> lock(mutex_);
        blocks_.push_back({begin, pages});
        bytes_ += pages;
        while (bytes_ > kMaxBytes || blocks_.size() > kMaxBlocks) {
            return_pages(blocks_.front().begin, blocks_.front().pages);
            bytes_ -= blocks_.front().pages;
            blocks_.pop_front();
        }
    }

   private:
    static constexpr size_t kMaxBytes = size_t{64} << 20;
    static constexpr size_t kMaxBlocks = 256;
    static constexpr size_t kLeftAlone = 16;
    static constexpr size_t kLargest = kMaxBytes / kLeftAlone;

    struct Block {
        uintptr_t begin;
        size_t pages;
    };

    std::mutex mutex_;
    std::deque<Block> blocks_;  // the oldest first
    size_t bytes_ = 0;
};
constexpr auto& freed_memory = lasting<FreedMemory>;

// Isolated memory ends at a page without memory, so that a kernel which goes beyond its end is reported as well.
uintptr_t obtain(size_t pages) {
    if (!all_addresses_are_in_range())
        if (const uintptr_t used_before = freed_memory().take(pages)) return used_before;
    const uintptr_t address = take_addresses(config().isolate ? pages + 1 : pages);
    try {
        put_memory(address, pages);
    } catch (...) {
        give_back_addresses(address);
        throw;
    }
    return address;
}

void give_back(uintptr_t address, size_t pages) {
    const bool was_shared = shared_allocations().remove(address);
    if (!all_addresses_are_in_range() && !was_shared) return freed_memory().put(address, pages);
    return_pages(address, pages);
}

void* allocate(size_t size, int device, const char* function) {
    const size_t pages = round_up_to_pages(size);
    const uintptr_t address = obtain(pages);
    try {
        void* const memory = reinterpret_cast<void*>(address);
        poison_if_wanted(host_view(memory), size);
        memory_history().add(address, size, device, function);
        device_memory().add({address, size, device, true});
        return memory;
    } catch (...) {
        give_back(address, pages);
        throw;
    }
}

void* allocate_on(Device& device, size_t size, const char* function) {
    install_fault_reports_if_wanted();
    device.reserve(size);
    try {
        return allocate(size, device.index(), function);
    } catch (...) {
        device.release(size);
        throw;
    }
}

aclError allocate_traced(const char* function, void** devPtr, size_t size) {
    return traced(can_fail(function), call_arguments("devPtr", value_at(devPtr), "size", size), [&] {
        require_pointer("devPtr", devPtr);
        if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
        *devPtr = allocate_on(current_device(), size, function);
    });
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The policy chooses between page sizes of the chip's memory; here it makes no difference.
extern "C" aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return allocate_traced(__func__, devPtr, size);
}

extern "C" aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return allocate_traced(__func__, devPtr, size);
}

extern "C" aclError aclrtFree(void* devPtr) {
    return traced(__func__, call_arguments("devPtr", devPtr), [&] {
        require_not_forked();
        require_pointer("devPtr", devPtr);
        const auto found = device_memory().find(devPtr);
        if (!found || !found->owned || !device_memory().remove(devPtr))
            refuse(ACL_ERROR_RT_PARAM_INVALID, "devPtr", "memory from aclrtMalloc that has not been freed",
                   memory_history().describe(devPtr));
        await_unused(devPtr, found->size);
        tell_memory_changed(devPtr, found->size);
        memory_history().free(found->base);
        poison_if_wanted(host_view(devPtr), found->size);
        give_back(found->base, round_up_to_pages(found->size));
        find_device("devPtr's device", found->device).release(found->size);
    });
}

// The attribute chooses between kinds of the chip's memory; here there is one.
extern "C" aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
    return guarded(__func__, [&] {
        if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_NORMAL)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "attr", "a value of aclrtMemAttr, in 0..9", std::to_string(attr));
        require_pointer("free", free);
        require_pointer("total", total);
        const Device& device = current_device();
        *free = device.free_memory();
        *total = device.total_memory();
    });
}
