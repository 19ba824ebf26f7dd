#include "engine/runtime/memory/system_memory.h"

#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

SystemMemory allocate_system_memory(size_t size, size_t alignment) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0)
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", size, " bytes"));
    return SystemMemory(memory);
}

}  // namespace torch_aclnn::host
