// Memory that was freed a while ago and is used again, because fresh memory costs a fault for each page. Not with
// TORCH_ACLNN_HOST_MODE=isolate, where freed memory is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace torch_aclnn::host {

class FreedMemory {
   public:
    // Returns a freed block of so many pages, or 0. The blocks that were freed last are not handed out again, so that a use of freed memory
    // meets no new data for a while.
    uintptr_t take(size_t pages);
    // Keeps it, unless it is large, and gives the oldest back to the machine when there is too much.
    void put(uintptr_t begin, size_t pages);

   private:
    struct Block {
        uintptr_t begin;
        size_t pages;
    };

    std::mutex mutex_;
    std::deque<Block> blocks_;  // the oldest first
    size_t bytes_ = 0;
};

FreedMemory& freed_memory();

}  // namespace torch_aclnn::host
