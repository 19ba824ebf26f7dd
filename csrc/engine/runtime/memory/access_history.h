// Who last wrote each byte of device memory, and who has read it since.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/runtime/diagnostics/call_stack.h"

namespace torch_aclnn::host {

// A task's use of some memory. The names live as long as the process.
struct MemoryTouch {
    const char* task;
    const char* parameter;
    int stream;
    uint64_t number;  // the task's number in its stream
    uint64_t time;    // a count of launches and of blocks given out
    bool is_write;
    std::shared_ptr<const CallStack> asked_at;
};

// Several threads must not use it at once.
class AccessHistory {
   public:
    // Keeps the new touch, and calls `compare` for each earlier touch of the memory, except for reads if the new touch is a read.
    void add(uintptr_t begin, size_t bytes, const MemoryTouch& touch, const std::function<void(const MemoryTouch&)>& compare);
    void forget(uintptr_t begin, size_t bytes);

   private:
    struct Range {
        uintptr_t end;
        std::vector<MemoryTouch> touches;  // the last write, if there is one, followed by each stream's last read since
    };

    void split_at(uintptr_t address);
    static void add_read(std::vector<MemoryTouch>& touches, const MemoryTouch& read);

    std::map<uintptr_t, Range> ranges_;  // by their beginnings; they do not overlap
};

// Unless null, called with memory that is allocated or freed.
extern std::atomic<void (*)(const void* memory, size_t bytes)> memory_listener;
inline void tell_memory_changed(const void* memory, size_t bytes) {
    if (const auto listener = memory_listener.load(std::memory_order_relaxed)) listener(memory, bytes);
}

}  // namespace torch_aclnn::host
