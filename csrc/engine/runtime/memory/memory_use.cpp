#include "engine/runtime/memory/memory_use.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {
namespace {

struct Uses {
    std::mutex mutex;
    std::condition_variable ended;
    std::set<const MemoryUse*> all;
};

constexpr auto& uses = lasting<Uses>;

// A task may launch another one and run it at once, so that the same thread shares the lock twice, which glibc's preference for readers
// allows.
std::shared_mutex& work() {
    static auto* const once = new std::shared_mutex;
    return *once;
}

void await_unused_locked(std::unique_lock<std::mutex>& lock, const void* address, size_t bytes) {
    uses().ended.wait(lock, [&] {
        return std::none_of(uses().all.begin(), uses().all.end(), [&](const MemoryUse* use) { return use->overlaps(address, bytes); });
    });
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
    await_unused_locked(lock, address, bytes);
}

WorkOnMemory::WorkOnMemory() : lock_(work()) {}

void while_unused(const void* address, size_t bytes, const std::function<void()>& action) {
    const std::unique_lock<std::shared_mutex> no_work(work());
    std::unique_lock<std::mutex> lock(uses().mutex);
    await_unused_locked(lock, address, bytes);
    action();
}

}  // namespace torch_aclnn::host
