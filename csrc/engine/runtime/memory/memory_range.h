// A range of addresses of a copy or a fill, the kind of its memory, and whether the memory still exists.
#pragma once

#include <vector>

#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/memory/memory_use.h"

namespace torch_aclnn::host {

enum class Side { any, host, device };

class MemoryRange {
   public:
    // 107000 unless the range lies within one allocation, and on the side that the kind of copy `kind` asks for. Nothing is known of memory
    // that is in no allocation: it is the program's.
    MemoryRange(const char* parameter, const void* address, size_t bytes, Side side = Side::any, const char* kind = nullptr);

    void* view() const;  // the address at which the engine reads and writes it
    size_t bytes() const { return bytes_; }
    // The program may change such memory, or give it back, without the engine's knowledge.
    bool is_pageable() const { return allocations_ == nullptr; }
    bool is_device_memory() const;
    void add_access(std::vector<MemoryAccess>& accesses, bool is_write, bool keeps = false) const;

    // Keeps the memory for work that is done later. 507015 if it has been freed since it was looked up.
    void hold(std::optional<MemoryUse>& use) const;

   private:
    const char* parameter_;
    void* address_;
    size_t bytes_;
    AllocationMap* allocations_ = nullptr;  // the map that has its allocation
    uint64_t version_ = 0;
};

}  // namespace torch_aclnn::host
