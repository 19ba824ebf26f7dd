// Device memory: ordinary memory of the machine, out of a budget per device.

#include <sys/mman.h>

#include <cstdlib>

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/memory/memory.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kAlignment = 512;  // what operators expect of a workspace; the documents promise 64
constexpr size_t kHugePage = size_t{2} << 20;

// Not initialised. A segment of a caching allocator gets huge pages, which makes its first use several times faster.
void* allocate(size_t size) noexcept {
    void* memory = nullptr;
    const bool huge = size >= kHugePage;
    if (posix_memalign(&memory, huge ? kHugePage : kAlignment, size) != 0) return nullptr;
    if (huge) (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

aclError allocate_on_device(const char* function, void** devPtr, size_t size) {
    if (devPtr == nullptr) return fail_null(function, "devPtr");
    if (size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": size must not be 0"));
    Device* device = nullptr;
    if (aclError code = find_current_device(function, device)) return code;
    if (!device->reserve(size)) return fail_out_of_memory(function, *device, size);
    void* memory = allocate(size);
    if (memory == nullptr) {
        device->release(size);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, text(function, ": the machine is out of memory: asked for ", size, " bytes"));
    }
    try {
        device_memory().add({reinterpret_cast<uintptr_t>(memory), size, device->index(), true});
    } catch (...) {
        device->release(size);
        std::free(memory);
        throw;
    }
    *devPtr = memory;
    return ACL_SUCCESS;
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The policy chooses between page sizes of the chip's memory; here it makes no difference.
extern "C" aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return traced(
        __func__, [&](const char* function) { return allocate_on_device(function, devPtr, size); },
        [&] { return text(devPtr ? *devPtr : nullptr, ", size ", size); });
}

extern "C" aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
    return traced(
        __func__, [&](const char* function) { return allocate_on_device(function, devPtr, size); },
        [&] { return text(devPtr ? *devPtr : nullptr, ", size ", size); });
}

extern "C" aclError aclrtFree(void* devPtr) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (devPtr == nullptr) return fail_null(function, "devPtr");
            const auto found = device_memory().find(devPtr);
            if (!found || !found->owned || !device_memory().remove(devPtr)) {
                return fail(ACL_ERROR_RT_PARAM_INVALID,
                            text(function, ": devPtr must come from aclrtMalloc and not have been freed, got ", devPtr));
            }
            Device* device = nullptr;
            if (aclError code = find_device(function, "device", found->device, device)) return code;
            device->release(found->size);
            std::free(devPtr);
            return ACL_SUCCESS;
        },
        [&] { return text(devPtr); });
}

// The attribute chooses between kinds of the chip's memory; here there is one.
extern "C" aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (free == nullptr) return fail_null(function, "free");
        if (total == nullptr) return fail_null(function, "total");
        Device* device = nullptr;
        if (aclError code = find_current_device(function, device)) return code;
        *free = device->free_memory();
        *total = device->total_memory();
        return ACL_SUCCESS;
    });
}
