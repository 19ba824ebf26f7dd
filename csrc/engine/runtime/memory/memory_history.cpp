#include "engine/runtime/memory/memory_history.h"

#include <iterator>

#include "engine/runtime/config/config.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

constexpr size_t kMaxFreed = 4096;

static CallStack stack_if_wanted() {
    return config().isolate || config().list_leaks ? CallStack::here() : CallStack();
}

void MemoryHistory::add(uintptr_t begin, size_t size, int device, const char* made_by) {
    CallStack here = stack_if_wanted();
    const std::lock_guard<std::mutex> lock(mutex_);
    forget_freed_locked(begin, size);
    records_[begin] = {begin, size, device, made_by, false, std::move(here), {}, 0};
}

void MemoryHistory::free(uintptr_t begin) {
    CallStack here = stack_if_wanted();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = records_.find(begin);
    if (found == records_.end()) return;
    found->second.is_freed = true;
    found->second.freed_at = std::move(here);
    found->second.freed_before = forgotten_ + freed_.size();
    freed_.push_back(begin);
    if (freed_.size() <= kMaxFreed) return;
    // The same address may have been allocated and freed again since.
    const auto oldest = records_.find(freed_.front());
    if (oldest != records_.end() && oldest->second.is_freed && oldest->second.freed_before == forgotten_) records_.erase(oldest);
    freed_.pop_front();
    ++forgotten_;
}

std::string MemoryHistory::describe(const void* address) const {
    const auto number = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard<std::mutex> lock(mutex_);
    const MemoryRecord* const record = nearest(number);
    if (record == nullptr || number - record->begin >= record->size) return text(address, ", which is in no allocation of a device");
    const size_t offset = number - record->begin;
    const std::string place = offset == 0 ? "" : text(" ", offset, " bytes into");
    if (record->is_freed) return text(address, ", which is", place, " memory that was freed");
    return text(address, ", which is", place, " an allocation of ", record->size, " bytes from ", record->made_by);
}

const MemoryRecord* MemoryHistory::nearest(uintptr_t address) const noexcept {
    const auto after = records_.upper_bound(address);
    return after == records_.begin() ? nullptr : &std::prev(after)->second;
}

bool MemoryHistory::was_freed(const void* address) const {
    const auto number = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard<std::mutex> lock(mutex_);
    const MemoryRecord* const record = nearest(number);
    return record != nullptr && record->is_freed && number - record->begin < record->size;
}

void MemoryHistory::forget_freed(uintptr_t begin, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    forget_freed_locked(begin, size);
}

void MemoryHistory::forget_freed_locked(uintptr_t begin, size_t size) {
    auto record = records_.upper_bound(begin);
    if (record != records_.begin()) --record;
    while (record != records_.end() && record->first < begin + size) {
        const bool overlaps = record->first + record->second.size > begin;
        record = overlaps && record->second.is_freed ? records_.erase(record) : std::next(record);
    }
}

}  // namespace torch_aclnn::host
