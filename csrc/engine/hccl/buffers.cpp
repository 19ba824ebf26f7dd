#include "engine/hccl/buffers.h"

#include "engine/hccl/data_types.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

size_t bytes_of_elements(const char* parameter, uint64_t count, HcclDataType type, int ranks) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, bytes_of(type), &bytes) || __builtin_mul_overflow(bytes, ranks, &bytes))
        refuse(HCCL_E_PARA, parameter, "a number of elements that memory can hold", std::to_string(count));
    return static_cast<size_t>(bytes);
}

void require_device_memory(const std::vector<Buffer>& buffers) {
    const Buffer* first = nullptr;
    int device = -1;
    for (const auto& buffer : buffers) {
        if (buffer.bytes == 0) continue;
        if (buffer.address == nullptr) refuse(HCCL_E_PTR, buffer.parameter, "a value", "null");
        const auto memory = device_memory_at(buffer.address, buffer.bytes);
        if (!memory) refuse(HCCL_E_PARA, buffer.parameter, "device memory", describe_missing_memory(buffer.address));
        if (memory->reach < buffer.bytes)
            refuse(HCCL_E_PARA, buffer.parameter, text(buffer.bytes, " bytes of device memory"),
                   text("an address whose allocation goes on for ", memory->reach));
        if (memory->device < 0) continue;
        if (first != nullptr && memory->device != device)
            refuse(HCCL_E_PARA, buffer.parameter, text("memory of device ", device, " like ", first->parameter),
                   text("memory of device ", memory->device));
        first = &buffer;
        device = memory->device;
    }
}

}  // namespace torch_aclnn::host
