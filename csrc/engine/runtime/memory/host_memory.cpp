// Host memory that is known to the runtime: pinned on an NPU, ordinary here.

#include <cstdlib>

#include "engine/runtime/error/call.h"
#include "engine/runtime/memory/memory.h"

using namespace torch_aclnn::host;

namespace {

constexpr size_t kAlignment = 64;  // documented

}  // namespace

extern "C" aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (hostPtr == nullptr) return fail_null(function, "hostPtr");
            if (size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": size must not be 0"));
            void* memory = nullptr;
            if (posix_memalign(&memory, kAlignment, size) != 0) {
                return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, text(function, ": the machine is out of memory: asked for ", size, " bytes"));
            }
            try {
                host_memory().add({reinterpret_cast<uintptr_t>(memory), size, -1, true});
            } catch (...) {
                std::free(memory);
                throw;
            }
            *hostPtr = memory;
            return ACL_SUCCESS;
        },
        [&] { return text(hostPtr ? *hostPtr : nullptr, ", size ", size); });
}

extern "C" aclError aclrtFreeHost(void* hostPtr) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (hostPtr == nullptr) return fail_null(function, "hostPtr");
            if (!host_memory().remove(hostPtr)) {
                return fail(ACL_ERROR_RT_PARAM_INVALID,
                            text(function, ": hostPtr must come from aclrtMallocHost and not have been freed, got ", hostPtr));
            }
            std::free(hostPtr);
            return ACL_SUCCESS;
        },
        [&] { return text(hostPtr); });
}

// The device sees all host memory at the same address; what is registered may stand where device memory is asked for.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostRegister(void* ptr, uint64_t size, int, void** devPtr) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (ptr == nullptr) return fail_null(function, "ptr");
            if (devPtr == nullptr) return fail_null(function, "devPtr");
            if (size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": size must not be 0"));
            if (registered_memory().find_overlap(ptr, size)) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": ptr ", ptr, " overlaps memory that is registered already"));
            }
            registered_memory().add({reinterpret_cast<uintptr_t>(ptr), size, -1, false});
            *devPtr = ptr;
            return ACL_SUCCESS;
        },
        [&] { return text(ptr, ", size ", size); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostUnregister(void* ptr) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (ptr == nullptr) return fail_null(function, "ptr");
            if (registered_memory().remove(ptr)) return ACL_SUCCESS;
            return fail(ACL_ERROR_RT_PARAM_INVALID, text(function, ": ptr must be registered memory, got ", ptr));
        },
        [&] { return text(ptr); });
}
