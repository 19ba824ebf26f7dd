// Memory that one process makes and others use, by a key (of aclrtMalloc's memory) or by a number (of physical memory).

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/runtime/call/traced.h"
#include "engine/runtime/device/device.h"
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
#include "engine/runtime/memory/share.h"
#include "engine/runtime/memory/shared_allocations.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kKeySize = 65;  // documented, with the zero at its end
constexpr char kKeyForm[] = "torch_aclnn:%016llx:%016llx";

void write_key(char* place, size_t size, const Shared& key) {
    std::memset(place, 0, size);
    std::snprintf(place, size, kKeyForm, static_cast<unsigned long long>(key.number), static_cast<unsigned long long>(key.secret));
}

Shared read_key(const char* given) {
    require_pointer("key", given);
    const std::string text(given, strnlen(given, kKeySize));
    unsigned long long number = 0, secret = 0;
    char again[kKeySize] = "";
    if (std::sscanf(text.c_str(), kKeyForm, &number, &secret) == 2) write_key(again, sizeof(again), {number, secret});
    if (text.empty() || text != again) refuse(ACL_ERROR_RT_PARAM_INVALID, "key", "a key of aclrtIpcMemGetExportKey", "\"" + text + "\"");
    return {number, secret};
}

SharedMemory memory_of(const Shared& key) {
    SharedMemory memory = find_shared("key", key.number, ShareKind::allocation);
    if (memory.secret == key.secret) return memory;
    refuse(ACL_ERROR_RT_PARAM_INVALID, "key", "a key of aclrtIpcMemGetExportKey", "one of another process that had the same number");
}

Block allocation_for(const void* address, size_t size) {
    const auto block = device_memory().find(address);
    if (!block || !block->owned) refuse(ACL_ERROR_RT_PARAM_INVALID, "devPtr", "memory of aclrtMalloc", memory_history().describe(address));
    if (number(address) % round_up_to_pages(1) != 0)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "devPtr", text("a multiple of ", round_up_to_pages(1)), text(address));
    const size_t left = block->base + block->size - number(address);
    if (size == 0 || size > left) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("a value in 1..", left), std::to_string(size));
    return *block;
}

// Allocations of other processes that are mapped here, by the number of their keys.
class ImportedAllocations {
   public:
    void* add(const Shared& key) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = imports_.find(key.number);
        if (found != imports_.end())
            refuse(ACL_ERROR_RT_PARAM_INVALID, "key", "one that this process has not imported yet",
                   text("that of ", reinterpret_cast<void*>(found->second.base)));
        const Block block = mapped(memory_of(key));
        imports_.emplace(key.number, block);
        return reinterpret_cast<void*>(block.base);
    }

    bool remove(const Shared& key) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = imports_.find(key.number);
        if (found == imports_.end()) return false;
        const Block block = found->second;
        void* const address = reinterpret_cast<void*>(block.base);
        device_memory().remove(address);
        await_unused(address, block.size);
        tell_memory_changed(address, block.size);
        memory_history().free(block.base);
        take_memory_away(block.base, block.size);
        give_back_addresses(block.base);
        imports_.erase(found);
        return true;
    }

   private:
    // Maps the memory with a page behind it, because adjacent mappings count as one.
    static Block mapped(const SharedMemory& memory) {
        install_fault_reports_if_wanted();
        const int device = find_device("the device of the key's memory", memory.device).index();
        const size_t pages = round_up_to_pages(memory.size);
        const uintptr_t address = take_addresses(pages + 1);
        if (!memory.file->map(host_view(reinterpret_cast<void*>(address)), memory.offset, pages)) {
            give_back_addresses(address);
            throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine refused a mapping of ", pages, " bytes"));
        }
        const Block block{address, memory.size, device, false};
        memory_history().add(address, memory.size, device, "aclrtIpcMemImportByKey");
        device_memory().add(block);
        return block;
    }

    std::mutex mutex_;
    std::map<uint64_t, Block> imports_;
};

constexpr auto& imported_allocations = lasting<ImportedAllocations>;

void require_list(const int32_t* processes, size_t count) {
    require_pointer("pid", processes);
    if (count == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "num", "at least 1", "0");
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" TORCH_ACLNN_HOST_API aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
    return traced(__func__, call_arguments("devPtr", devPtr, "size", size, "flags", flags), [&] {
        require_pointer("devPtr", devPtr);
        require_pointer("key", key);
        if (len < kKeySize) refuse(ACL_ERROR_RT_PARAM_INVALID, "len", std::to_string(kKeySize), std::to_string(len));
        require_share_flags(flags);
        write_key(key, kKeySize, shared_allocations().share(allocation_for(devPtr, size), number(devPtr), size, flags == 1));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
    return traced(__func__, call_arguments("key", key, "num", num), [&] {
        require_list(pid, num);
        allow("key", read_key(key).number, ShareKind::allocation, pid, num);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
    return traced(__func__, call_arguments("devPtr", value_at(devPtr), "key", key, "flags", flags), [&] {
        require_pointer("devPtr", devPtr);
        require_share_flags(flags);
        *devPtr = imported_allocations().add(read_key(key));
    });
}

// The process that imported the memory loses it; the one that exported it keeps it, and nobody else can import it any more.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtIpcMemClose(const char* key) {
    return traced(__func__, call_arguments("key", key), [&] {
        const Shared read = read_key(key);
        if (!imported_allocations().remove(read) && !end_share(read.number, ShareKind::allocation))
            refuse(ACL_ERROR_RT_PARAM_INVALID, "key", "one that this process has exported or imported, and not closed", key);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                                                         uint64_t flags, uint64_t* shareableHandle) {
    return traced(__func__, call_arguments("handle", handle, "flags", flags, "shareableHandle", value_at(shareableHandle)), [&] {
        require_pointer("shareableHandle", shareableHandle);
        if (handleType != ACL_MEM_HANDLE_TYPE_NONE) refuse(ACL_ERROR_RT_PARAM_INVALID, "handleType", "0", std::to_string(handleType));
        require_share_flags(flags);
        *shareableHandle = find_physical(handle)->share(flags == 1);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
    return traced(__func__, call_arguments("shareableHandle", shareableHandle, "pidNum", pidNum), [&] {
        require_list(pid, pidNum);
        allow("shareableHandle", shareableHandle, ShareKind::physical, pid, pidNum);
    });
}

// It is documented that the process which exported the memory cannot import it.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                                                           aclrtDrvMemHandle* handle) {
    return traced(__func__, call_arguments("shareableHandle", shareableHandle, "deviceId", deviceId, "handle", value_at(handle)), [&] {
        require_pointer("handle", handle);
        Device& device = find_device("deviceId", deviceId);
        if (is_own(shareableHandle)) refuse(ACL_ERROR_RT_PARAM_INVALID, "shareableHandle", "memory of another process", "this process's");
        *handle = add_physical(std::make_shared<Physical>(device, find_shared("shareableHandle", shareableHandle, ShareKind::physical)));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceGetBareTgid(int32_t* pid) {
    return write_result(__func__, "pid", pid, [&] { return getpid(); });
}
