#include "engine/opapi/slot_pool.h"

#include <sys/mman.h>

#include <mutex>
#include <new>

#include "engine/runtime/error/error.h"
#include "engine/runtime/memory/address_limit.h"

namespace torch_aclnn::host {

constexpr size_t kMaxObjects = size_t{1} << 22;  // objects of one kind at a time
constexpr size_t kQuarantine = 32;               // slots that are given back before the first of them is used again

// The size is a power of two, so that an address is told from one inside a slot without a division.
static size_t slot_size(size_t needed) {
    size_t size = 64;
    while (size < needed) size *= 2;
    return size;
}

constexpr size_t kStep = size_t{1} << 20;  // the bytes by which the usable part grows

// Reserves address space only, which counts neither as memory nor as committed memory.
static char* reserve(size_t size) {
    void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

[[noreturn]] static void refuse_more(size_t objects) {
    throw Error(ACL_ERROR_BAD_ALLOC,
                "no room for another handle after " + std::to_string(objects) +
                    " of its kind: destroy those that are not needed, or raise the limit of address space (ulimit -v)");
}

SlotPool::SlotPool(size_t object_size)
    : slot_size_(slot_size(kHeader + object_size)),
      size_(std::max(within_address_limit(slot_size_ * kMaxObjects, 128) / kStep, size_t{1}) * kStep),
      memory_(reserve(size_)) {}

bool SlotPool::contains(const void* object) const noexcept {
    const uintptr_t first = reinterpret_cast<uintptr_t>(memory_) + kHeader, address = reinterpret_cast<uintptr_t>(object);
    return address >= first && address - first < used_.load(std::memory_order_acquire) && ((address - first) & (slot_size_ - 1)) == 0;
}

SlotPool::Slot* SlotPool::new_slot() {
    const size_t used = used_.load(std::memory_order_relaxed);
    // Slots and steps are powers of two, so that a step ends with a slot.
    const bool has_room = memory_ != nullptr && used < size_;
    if (!has_room || (used % kStep == 0 && mprotect(memory_ + used, kStep, PROT_READ | PROT_WRITE) != 0)) refuse_more(used / slot_size_);
    Slot* slot = new (memory_ + used) Slot;
    used_.store(used + slot_size_, std::memory_order_release);
    return slot;
}

void* SlotPool::take() {
    const std::lock_guard<SpinLock> lock(lock_);
    Slot* slot = oldest_;
    if (waiting_ > kQuarantine) {
        oldest_ = slot->next;
        --waiting_;
    } else {
        slot = new_slot();
    }
    slot->references.store(1, std::memory_order_relaxed);
    slot->generation.fetch_add(1, std::memory_order_release);
    return reinterpret_cast<char*>(slot) + kHeader;
}

bool SlotPool::retire(const void* object) noexcept {
    if (!contains(object)) return false;
    uint32_t alive = generation(object);
    return alive % 2 == 1 && slot_of(object)->generation.compare_exchange_strong(alive, alive + 1, std::memory_order_acq_rel);
}

void SlotPool::give_back(void* object) noexcept {
    Slot* slot = slot_of(object);
    (void)retire(object);
    slot->next = nullptr;
    const std::lock_guard<SpinLock> lock(lock_);
    (waiting_ == 0 ? oldest_ : newest_->next) = slot;
    newest_ = slot;
    ++waiting_;
}

void SlotPool::for_each_live(const std::function<void(const void*)>& visit) const {
    const size_t used = used_.load(std::memory_order_acquire);
    for (size_t at = 0; at < used; at += slot_size_)
        if (is_live(memory_ + at + kHeader)) visit(memory_ + at + kHeader);
}

}  // namespace torch_aclnn::host
