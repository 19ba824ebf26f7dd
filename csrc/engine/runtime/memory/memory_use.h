// Memory that a thread of the engine works on while the program goes on: aclrtFree and aclrtUnmapMem wait until it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <shared_mutex>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// The use begins before the memory is looked up, so that what is found then stays.
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

// Waits until no work uses memory that can no longer be looked up.
void await_unused(const void* address, size_t bytes);

// Each thread holds one while it works on any memory: only while_unused() waits for it.
class WorkOnMemory {
   public:
    WorkOnMemory();

   private:
    std::shared_lock<std::shared_mutex> lock_;
};

// Does the action while no thread of the engine works on the memory. Must not be called within a task.
void while_unused(const void* address, size_t bytes, const std::function<void()>& action);

}  // namespace torch_aclnn::host
