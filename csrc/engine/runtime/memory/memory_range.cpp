#include "engine/runtime/memory/memory_range.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/runtime/error/guarded.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_history.h"

namespace torch_aclnn::host {
namespace {

// The range has no other memory of the process than that of devices.
bool is_device_address(const void* address) {
    return device_range.contains(reinterpret_cast<uintptr_t>(address)) || memory_history().was_freed(address);
}

const char* name_of(Side side) {
    return side == Side::device ? "device" : "host";
}

// Refuses addresses that only device memory can have but that are in no allocation: it was freed, or never was memory.
void require_known(const char* parameter, const void* address, Side side, const char* kind) {
    if (side != Side::device && !is_device_address(address)) return;
    const std::string expected = side == Side::any ? "memory that has not been freed" : text(name_of(side), " memory, as kind is ", kind);
    refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, expected, memory_history().describe(address));
}

// Asks the system, because reading could end the process.
bool can_be_read(const void* address) {
    char byte = 0;
    const iovec local{&byte, 1}, remote{const_cast<void*>(address), 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EFAULT;
}

// The argument of PROCMAP_QUERY, as linux/fs.h has it since Linux 6.11.
struct MappingQuery {
    uint64_t size, flags, address, begin, end, others[4];
    uint32_t small[4];
    uint64_t texts[2];
};
constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);
constexpr uint64_t kReadable = 1;

// Whether the process may read all of the range; nullopt where the system cannot be asked.
std::optional<bool> is_readable(uintptr_t first, uintptr_t last) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return std::nullopt;
    MappingQuery query{sizeof(MappingQuery), kReadable, first, 0, 0, {}, {}, {}};
    std::optional<bool> answer = true;
    while (answer == true && query.address <= last) {
        if (ioctl(maps, kQueryMapping, &query) != 0) answer = errno == ENOENT ? std::optional(false) : std::nullopt;
        query.address = query.end;
    }
    close(maps);
    return answer;
}

// Whether all pages of the range are mapped; some may be reservations where the system cannot tell.
bool is_mapped(uintptr_t first, uintptr_t last) {
    static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    if (last - first < page) return true;  // it lies in the pages of its ends, which can be read
    if (const std::optional<bool> answer = is_readable(first, last)) return *answer;
    std::array<unsigned char, 4096> residence;
    const size_t most = residence.size() * page;
    for (uintptr_t begin = first & ~(page - 1); begin <= last; begin += most)
        if (mincore(reinterpret_cast<void*>(begin), std::min<size_t>(most, last - begin + 1), residence.data()) != 0)
            return errno != ENOMEM;
    return true;
}

// Refuses addresses at which the process has no memory, such as those that are only reserved, and those of freed memory.
void require_mapped(const char* parameter, const void* address, size_t bytes) {
    const auto first = reinterpret_cast<uintptr_t>(address);
    uintptr_t last;
    if (bytes == 0 || (!__builtin_add_overflow(first, bytes - 1, &last) && can_be_read(address) &&
                       can_be_read(reinterpret_cast<const void*>(last)) && is_mapped(first, last)))
        return;
    refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text(bytes, " bytes of memory"), text(address, ", where the process has no such memory"));
}

}  // namespace

MemoryRange::MemoryRange(const char* parameter, const void* address, size_t bytes, Side side, const char* kind)
    : parameter_(parameter), address_(const_cast<void*>(address)), bytes_(bytes) {
    std::optional<size_t> reach;
    for (AllocationMap* allocations : {&device_memory(), &registered_memory(), &host_memory()}) {
        if (side == Side::device && allocations == &host_memory()) break;
        version_ = allocations->version();
        reach = allocations->reach(address, bytes);
        // A part of the program's own memory may be registered.
        if (reach && *reach < bytes && side != Side::device && allocations == &registered_memory()) reach.reset();
        if (!reach) continue;
        allocations_ = allocations;
        break;
    }
    if (!reach) {
        require_known(parameter, address, side, kind);
        require_mapped(parameter, address, bytes);
        return;
    }
    if (side == Side::host && is_device_memory())
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, text("host memory, as kind is ", kind), memory_history().describe(address));
    if (*reach < bytes)
        refuse(ACL_ERROR_RT_PARAM_INVALID, parameter,
               text(name_of(is_device_memory() ? Side::device : Side::host), " memory for count ", bytes),
               text(address, ", whose allocation goes on for ", *reach, " bytes"));
}

bool MemoryRange::is_device_memory() const {
    return allocations_ == &device_memory();
}

void* MemoryRange::view() const {
    return host_view(address_);
}

void MemoryRange::add_access(std::vector<MemoryAccess>& accesses, bool is_write, bool keeps) const {
    if (!is_pageable() && bytes_ > 0) accesses.push_back({parameter_, address_, bytes_, is_write, keeps});
}

void MemoryRange::hold(std::optional<MemoryUse>& use) const {
    if (is_pageable()) return;
    use.emplace(address_, bytes_);
    if (allocations_->version() == version_) return;
    if (allocations_->reach(address_, bytes_).value_or(0) >= bytes_) return;
    refuse(ACL_ERROR_RT_AICORE_EXCEPTION, parameter_, text(bytes_, " bytes of memory"),
           text(address_, ", which was freed after the launch"));
}

}  // namespace torch_aclnn::host
