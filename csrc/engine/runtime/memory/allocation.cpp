// Device memory: ordinary memory of the machine, out of a budget per device.

#include <sys/mman.h>

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/fault/faultable.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/system_memory.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kAlignment = 512;  // what operators expect of a workspace; the documents promise 64
constexpr size_t kHugePage = size_t{2} << 20;

// A segment of a caching allocator gets huge pages, which makes its first use several times faster.
SystemMemory allocate(size_t size) {
    const bool huge = size >= kHugePage;
    SystemMemory memory = allocate_system_memory(size, huge ? kHugePage : kAlignment);
    if (huge) (void)madvise(memory.get(), size, MADV_HUGEPAGE);
    return memory;
}

void* allocate_on(Device& device, size_t size) {
    device.reserve(size);
    try {
        SystemMemory memory = allocate(size);
        device_memory().add({reinterpret_cast<uintptr_t>(memory.get()), size, device.index(), true});
        return memory.release();
    } catch (...) {
        device.release(size);
        throw;
    }
}

aclError allocate_traced(const char* function, void** devPtr, size_t size) {
    return traced(
        can_fail(function),
        [&] {
            require_pointer("devPtr", devPtr);
            if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
            *devPtr = allocate_on(current_device(), size);
        },
        [&] { return call_arguments("devPtr", value_at(devPtr), "size", size); });
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
    return traced(
        __func__,
        [&] {
            require_pointer("devPtr", devPtr);
            const auto found = device_memory().find(devPtr);
            if (!found || !found->owned || !device_memory().remove(devPtr))
                refuse(ACL_ERROR_RT_PARAM_INVALID, "devPtr", "memory from aclrtMalloc that has not been freed", text(devPtr));
            await_unused(devPtr, found->size);
            order_forget(devPtr, found->size);
            find_device("devPtr's device", found->device).release(found->size);
            std::free(devPtr);
        },
        [&] { return call_arguments("devPtr", devPtr); });
}

// The attribute chooses between kinds of the chip's memory; here there is one.
extern "C" aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    return guarded(__func__, [&] {
        require_pointer("free", free);
        require_pointer("total", total);
        const Device& device = current_device();
        *free = device.free_memory();
        *total = device.total_memory();
    });
}
