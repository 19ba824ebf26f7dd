#include "engine/runtime/memory/memory_use.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

namespace torch_aclnn::host {
namespace {

struct Uses {
    std::mutex mutex;
    std::condition_variable ended;
    std::set<const MemoryUse*> all;
};

// Never destroyed: memory is still used and freed while the process exits.
Uses& uses() {
    static auto* const once = new Uses;
    return *once;
}

}  // namespace

MemoryUse::MemoryUse(const void* address, size_t bytes) : begin_(reinterpret_cast<uintptr_t>(address)), bytes_(bytes) {
    const std::lock_guard<std::mutex> lock(uses().mutex);
    uses().all.insert(this);
}

MemoryUse::~MemoryUse() {
    const std::lock_guard<std::mutex> lock(uses().mutex);
    uses().all.erase(this);
    uses().ended.notify_all();
}

bool MemoryUse::overlaps(const void* address, size_t bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    return begin < begin_ + bytes_ && begin_ < begin + bytes;
}

void await_unused(const void* address, size_t bytes) {
    std::unique_lock<std::mutex> lock(uses().mutex);
    uses().ended.wait(lock, [&] {
        return std::none_of(uses().all.begin(), uses().all.end(), [&](const MemoryUse* use) { return use->overlaps(address, bytes); });
    });
}

}  // namespace torch_aclnn::host
