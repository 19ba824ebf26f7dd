#include "engine/runtime/memory/freed_memory.h"

#include <algorithm>
#include <iterator>

#include "engine/runtime/memory/device_addresses.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kMaxBlocks = 256;
constexpr size_t kLeftAlone = 16;
constexpr size_t kLargest = kMaxBytes / kLeftAlone;

void return_pages(uintptr_t begin, size_t pages) {
    take_memory_away(begin, pages);
    give_back_addresses(begin);
}

}  // namespace

uintptr_t FreedMemory::take(size_t pages) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (blocks_.size() <= kLeftAlone) return 0;
    const auto end = blocks_.end() - kLeftAlone;
    const auto found = std::find_if(blocks_.begin(), end, [&](const Block& block) { return block.pages == pages; });
    if (found == end) return 0;
    const uintptr_t begin = found->begin;
    bytes_ -= pages;
    blocks_.erase(found);
    return begin;
}

void FreedMemory::put(uintptr_t begin, size_t pages) {
    if (pages > kLargest) return return_pages(begin, pages);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.push_back({begin, pages});
    bytes_ += pages;
    while (bytes_ > kMaxBytes || blocks_.size() > kMaxBlocks) {
        return_pages(blocks_.front().begin, blocks_.front().pages);
        bytes_ -= blocks_.front().pages;
        blocks_.pop_front();
    }
}

// Never destroyed: memory is still freed while the process exits.
FreedMemory& freed_memory() {
    static auto* const once = new FreedMemory;
    return *once;
}

}  // namespace torch_aclnn::host
