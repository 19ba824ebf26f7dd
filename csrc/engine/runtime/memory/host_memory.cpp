// Host memory that is known to the runtime: pinned on an NPU, ordinary here.

#include <algorithm>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/call/traced.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/memory/address_arithmetic.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_history.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/poison.h"
#include "engine/runtime/memory/system_memory.h"

using namespace torch_aclnn::host;

namespace {

std::shared_ptr<const CallStack> stack_for_leaks() {
    return config().list_leaks ? std::make_shared<const CallStack>(CallStack::here()) : nullptr;
}

// The alignment that is documented is 64. But callers register parts of the memory by whole pages, as torch_npu does for memory that is
// swapped: the first page must begin with the memory, and the last one must be all of it.
constexpr size_t kAlignment = 4096;

// The bytes of aclrtMallocHost's memory from there on, if it is in one.
void require_within_allocation(const void* ptr, size_t size) {
    const auto reach = host_memory().reach(ptr, size);
    if (reach && *reach < size)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("at most ", *reach, " bytes, to the end of the allocation"), text(size));
}

}  // namespace

extern "C" aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return traced(
        can_fail(__func__),
        [&] {
            require_pointer("hostPtr", hostPtr);
            if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
            SystemMemory memory = allocate_system_memory(std::max(size, round_up(size, kAlignment)), kAlignment);
            poison_if_wanted(memory.get(), size);
            host_memory().add({reinterpret_cast<uintptr_t>(memory.get()), size, -1, true, stack_for_leaks()});
            *hostPtr = memory.release();
        },
        [&] { return call_arguments("hostPtr", value_at(hostPtr), "size", size); });
}

extern "C" aclError aclrtFreeHost(void* hostPtr) {
    return traced(
        __func__,
        [&] {
            require_pointer("hostPtr", hostPtr);
            const auto block = host_memory().remove(hostPtr);
            if (!block) refuse(ACL_ERROR_RT_PARAM_INVALID, "hostPtr", "memory from aclrtMallocHost that has not been freed", text(hostPtr));
            await_unused(hostPtr, block->size);
            poison_if_wanted(hostPtr, block->size);
            std::free(hostPtr);
        },
        [&] { return call_arguments("hostPtr", hostPtr); });
}

// The device sees all host memory at the same address; what is registered may stand where device memory is asked for.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType, void** devPtr) {
    return traced(
        __func__,
        [&] {
            require_pointer("ptr", ptr);
            require_pointer("devPtr", devPtr);
            if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
            if (size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(ptr))
                refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "a range of addresses", text(size, " from ", ptr));
            if (device_memory().find_overlap(ptr, size))
                refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "host memory", memory_history().describe(ptr));
            require_within_allocation(ptr, size);
            if (registered_memory().find_overlap(ptr, size))
                refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "memory that is not registered", text(ptr, ", which overlaps registered memory"));
            registered_memory().add({reinterpret_cast<uintptr_t>(ptr), size, -1, false, stack_for_leaks()});
            *devPtr = ptr;
        },
        [&] { return call_arguments("ptr", ptr, "size", size); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostUnregister(void* ptr) {
    return traced(
        __func__,
        [&] {
            require_pointer("ptr", ptr);
            const auto block = registered_memory().remove(ptr);
            if (!block) refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "registered memory", text(ptr));
            await_unused(ptr, block->size);
        },
        [&] { return call_arguments("ptr", ptr); });
}
