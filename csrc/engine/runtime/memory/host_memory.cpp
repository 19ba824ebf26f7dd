// Host memory that is known to the runtime: pinned on an NPU, ordinary here.

#include <algorithm>
#include <cstdlib>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/memory/address_arithmetic.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_history.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/memory/poison.h"

using namespace torch_aclnn::host;

namespace {

struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
using SystemMemory = std::unique_ptr<void, Free>;

// Returns memory that is not initialised. 207001 if the machine has not that much.
SystemMemory allocate_system_memory(size_t size, size_t alignment) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0)
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", size, " bytes"));
    return SystemMemory(memory);
}

std::shared_ptr<const CallStack> stack_for_leaks() {
    return config().list_leaks ? std::make_shared<const CallStack>(CallStack::here()) : nullptr;
}

// The alignment that is documented is 64. But callers register parts of the memory by whole pages, as torch_npu does for memory that is
// swapped: the first page must begin with the memory, and the last one must be all of it.
constexpr size_t kAlignment = 4096;

// Refuses memory of aclrtMallocHost that is shorter than the size.
void require_within_allocation(const void* ptr, size_t size) {
    const auto reach = host_memory().reach(ptr, size);
    if (reach && *reach < size)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("at most ", *reach, " bytes, to the end of the allocation"), text(size));
}

void allocate_host(const char* parameter, void** place, size_t size) {
    require_not_forked();
    require_pointer(parameter, place);
    if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
    SystemMemory memory = allocate_system_memory(std::max(size, round_up(size, kAlignment)), kAlignment);
    poison_if_wanted(memory.get(), size);
    host_memory().add({reinterpret_cast<uintptr_t>(memory.get()), size, -1, true, stack_for_leaks()});
    *place = memory.release();
}

// The device sees all host memory at the same address whatever the attributes ask for; another device than the current one is an error.
void require_attributes(const aclrtMallocConfig& configuration) {
    if (configuration.numAttrs > 0) require_pointer("cfg", configuration.attrs);
    for (size_t i = 0; i < configuration.numAttrs; ++i) {
        const aclrtMallocAttribute& attribute = configuration.attrs[i];
        if (attribute.attr < ACL_RT_MEM_ATTR_RSV || attribute.attr > ACL_RT_MEM_ATTR_VA_FLAG)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "cfg", "attributes in 0..3", std::to_string(attribute.attr));
        const int device = attribute.attr == ACL_RT_MEM_ATTR_DEVICE_ID ? current_device().index() : -1;
        if (device >= 0 && attribute.value.deviceId != static_cast<uint32_t>(device))
            refuse(ACL_ERROR_RT_PARAM_INVALID, "cfg", text("the current device, ", device), std::to_string(attribute.value.deviceId));
    }
}

void register_host(void* ptr, uint64_t size) {
    require_pointer("ptr", ptr);
    if (size == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "at least 1", "0");
    if (size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(ptr))
        refuse(ACL_ERROR_RT_PARAM_INVALID, "size", "a range of addresses", text(size, " from ", ptr));
    if (device_memory().find_overlap(ptr, size)) refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "host memory", memory_history().describe(ptr));
    require_within_allocation(ptr, size);
    if (registered_memory().find_overlap(ptr, size))
        refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "memory that is not registered", text(ptr, ", which overlaps registered memory"));
    registered_memory().add({reinterpret_cast<uintptr_t>(ptr), size, -1, false, stack_for_leaks()});
}

}  // namespace

extern "C" aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return traced(can_fail(__func__), call_arguments("hostPtr", value_at(hostPtr), "size", size),
                  [&] { allocate_host("hostPtr", hostPtr, size); });
}

extern "C" aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
    return traced(can_fail(__func__), call_arguments("ptr", value_at(ptr), "size", size), [&] {
        if (cfg != nullptr) require_attributes(*cfg);
        allocate_host("ptr", ptr, size);
    });
}

extern "C" aclError aclrtFreeHost(void* hostPtr) {
    return traced(__func__, call_arguments("hostPtr", hostPtr), [&] {
        require_pointer("hostPtr", hostPtr);
        const auto block = host_memory().remove(hostPtr);
        if (!block) refuse(ACL_ERROR_RT_PARAM_INVALID, "hostPtr", "memory from aclrtMallocHost that has not been freed", text(hostPtr));
        await_unused(hostPtr, block->size);
        poison_if_wanted(hostPtr, block->size);
        std::free(hostPtr);
    });
}

// The device sees all host memory at the same address; what is registered may stand where device memory is asked for.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType, void** devPtr) {
    return traced(__func__, call_arguments("ptr", ptr, "size", size), [&] {
        require_pointer("devPtr", devPtr);
        register_host(ptr, size);
        *devPtr = ptr;
    });
}

// All host memory counts as page-locked. What the documents reserve is refused.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
    return traced(__func__, call_arguments("ptr", ptr, "size", size, "flag", flag), [&] {
        if (flag == 0 || (flag & ~(ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)) != 0)
            refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED or both", std::to_string(flag));
        register_host(ptr, size);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
    return guarded(__func__, [&] {
        require_pointer("pHost", pHost);
        require_pointer("pDevice", pDevice);
        if (flag != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "0", std::to_string(flag));
        if (!registered_memory().reach(pHost, 1)) refuse(ACL_ERROR_RT_PARAM_INVALID, "pHost", "registered memory", text(pHost));
        *pDevice = pHost;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtHostUnregister(void* ptr) {
    return traced(__func__, call_arguments("ptr", ptr), [&] {
        require_pointer("ptr", ptr);
        const auto block = registered_memory().remove(ptr);
        if (!block) refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr", "registered memory", text(ptr));
        await_unused(ptr, block->size);
    });
}
