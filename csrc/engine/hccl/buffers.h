// The memory that an operation reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hccl/hccl_types.h"

namespace torch_aclnn::host {

struct Buffer {
    const char* parameter;
    const void* address;
    size_t bytes;
    bool only_read = false;
};

// The bytes of so many elements for each of so many ranks; HCCL_E_PARA, naming the parameter, if they are no size of memory.
size_t bytes_of_elements(const char* parameter, uint64_t count, HcclDataType type, int ranks = 1);

// HCCL_E_PTR for a null, HCCL_E_PARA for what is not memory of a device from one end to the other, or of several devices.
void require_device_memory(const std::vector<Buffer>& buffers);

}  // namespace torch_aclnn::host
