// Memory that a thread of the engine works on while the program goes on: aclrtFree and aclrtUnmapMem wait until it is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// It begins before the memory is looked up: what is found then stays.
class TORCH_ACLNN_HOST_API MemoryUse {
   public:
    MemoryUse(const void* address, size_t bytes);
    MemoryUse(const MemoryUse&) = delete;
    ~MemoryUse();

    bool overlaps(const void* address, size_t bytes) const;

   private:
    const uintptr_t begin_;
    const size_t bytes_;
};

// For memory that nobody can look up any more.
void await_unused(const void* address, size_t bytes);

}  // namespace torch_aclnn::host
