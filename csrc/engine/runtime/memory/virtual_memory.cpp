// Ranges of addresses, reserved first and given memory piece by piece: what torch_npu's expandable segments are made of.

#include <sys/mman.h>

#include <algorithm>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/access_history.h"
#include "engine/runtime/memory/address_arithmetic.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/fault_report.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_history.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/physical_memory.h"

namespace torch_aclnn::host {
namespace {

struct VirtualMemory {
    std::mutex mutex;
    std::map<uintptr_t, size_t> reservations;
    std::map<uintptr_t, std::shared_ptr<Physical>> mappings;
};

constexpr auto& virtual_memory = lasting<VirtualMemory>;

// Reserves address space only, aligned for huge pages; 207001 if the machine refuses. It is taken out of the one range only where that is
// necessary, because the range would otherwise be too small.
void* reserve_addresses(size_t size) {
    if (all_addresses_are_in_range()) return reinterpret_cast<void*>(take_addresses(std::max(size, kHugePage)));
    const size_t padded = size + kHugePage;
    void* raw = mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine has no range of addresses left for ", size, " bytes"));
    const uintptr_t begin = number(raw);
    const uintptr_t aligned = round_up(begin, kHugePage);
    if (aligned != begin) munmap(raw, aligned - begin);
    const uintptr_t tail = aligned + size;
    if (tail != begin + padded) munmap(reinterpret_cast<void*>(tail), begin + padded - tail);
    return reinterpret_cast<void*>(aligned);
}

void release_addresses(void* begin, size_t size) {
    memory_history().forget_freed(number(begin), size);
    if (all_addresses_are_in_range())
        give_back_addresses(number(begin));
    else
        munmap(begin, size);
}

bool inside_reservation(const VirtualMemory& memory, uintptr_t address, size_t size) {
    auto after = memory.reservations.upper_bound(address);
    if (after == memory.reservations.begin()) return false;
    --after;
    const size_t offset = address - after->first;
    return offset < after->second && size <= after->second - offset;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t) {
    return traced(__func__, call_arguments("virPtr", value_at(virPtr), "size", size), [&] {
        require_not_forked();
        require_pointer("virPtr", virPtr);
        if (size == 0 || size > SIZE_MAX / 2)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("a value in 1..", SIZE_MAX / 2), std::to_string(size));
        if (alignment != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "alignment", "0, as it is reserved", std::to_string(alignment));
        if (expectPtr != nullptr) refuse(ACL_ERROR_RT_PARAM_INVALID, "expectPtr", "null, as it is reserved", text(expectPtr));
        VirtualMemory& memory = virtual_memory();
        std::lock_guard<std::mutex> lock(memory.mutex);
        const size_t whole_pages = round_up_to_pages(size);
        void* address = reserve_addresses(whole_pages);
        memory.reservations[number(address)] = whole_pages;
        *virPtr = address;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtReleaseMemAddress(void* virPtr) {
    return traced(__func__, call_arguments("virPtr", virPtr), [&] {
        require_pointer("virPtr", virPtr);
        VirtualMemory& memory = virtual_memory();
        std::lock_guard<std::mutex> lock(memory.mutex);
        const auto found = memory.reservations.find(number(virPtr));
        if (found == memory.reservations.end())
            refuse(ACL_ERROR_RT_PARAM_INVALID, "virPtr", "an address from aclrtReserveMemAddress", text(virPtr));
        const auto mapped = memory.mappings.lower_bound(found->first);
        if (mapped != memory.mappings.end() && mapped->first - found->first < found->second)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "virPtr", "a range without memory",
                   text(virPtr, ", whose range still has memory mapped to it"));
        release_addresses(virPtr, found->second);
        memory.reservations.erase(found);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, void* handle, uint64_t) {
    return traced(can_fail(__func__), call_arguments("virPtr", virPtr, "size", size, "offset", offset, "handle", handle), [&] {
        require_pointer("virPtr", virPtr);
        auto physical = find_physical(handle);
        if (offset != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "offset", "0", std::to_string(offset));
        if (size != physical->size())
            refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("the whole of the physical memory, ", physical->size()), std::to_string(size));
        VirtualMemory& memory = virtual_memory();
        std::lock_guard<std::mutex> lock(memory.mutex);
        if (!inside_reservation(memory, number(virPtr), size))
            refuse(ACL_ERROR_RT_PARAM_INVALID, "virPtr", text(size, " bytes in a range from aclrtReserveMemAddress"), text(virPtr));
        if (device_memory().find_overlap(virPtr, size))
            refuse(ACL_ERROR_RT_PARAM_INVALID, "virPtr", "addresses without memory",
                   text(virPtr, ", which already has memory mapped to it"));
        install_fault_reports_if_wanted();
        if (!physical->map_at(host_view(virPtr)))
            throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine refused a mapping of ", size, " bytes"));
        memory_history().add(number(virPtr), size, physical->device(), "aclrtMapMem");
        device_memory().add({number(virPtr), size, physical->device(), false});
        memory.mappings[number(virPtr)] = std::move(physical);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtUnmapMem(void* virPtr) {
    return traced(__func__, call_arguments("virPtr", virPtr), [&] {
        require_pointer("virPtr", virPtr);
        VirtualMemory& memory = virtual_memory();
        std::lock_guard<std::mutex> lock(memory.mutex);
        const auto found = memory.mappings.find(number(virPtr));
        if (found == memory.mappings.end())
            refuse(ACL_ERROR_RT_PARAM_INVALID, "virPtr", "an address that aclrtMapMem has mapped", memory_history().describe(virPtr));
        device_memory().remove(virPtr);
        await_unused(virPtr, found->second->size());
        tell_memory_changed(virPtr, found->second->size());
        memory_history().free(found->first);
        take_memory_away(found->first, found->second->size());  // the range stays reserved
        memory.mappings.erase(found);
    });
}
