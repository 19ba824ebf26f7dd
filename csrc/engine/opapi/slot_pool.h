// Memory for the objects behind handles. A slot never goes back to the machine, and it counts how often it was taken and given back. So a
// pointer that is no handle, or one whose object has been destroyed, is told from a live handle without being followed.
#pragma once

#include "engine/runtime/visibility.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <type_traits>

namespace torch_aclnn::host {

// A lock for a few instructions at a time, which cost less than a mutex does.
class SpinLock {
   public:
    void lock() noexcept {
        while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() noexcept { taken_.clear(std::memory_order_release); }

   private:
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

class TORCH_ACLNN_HOST_API SlotPool {
   public:
    explicit SlotPool(size_t object_size);
    SlotPool(const SlotPool&) = delete;
    SlotPool& operator=(const SlotPool&) = delete;

    void* take();  // throws an Error where there is no room
    // Ends the object's life as a handle, before it is destructed. Returns false if it was no handle. If several threads call it, one gets
    // true.
    bool retire(const void* object) noexcept;
    void give_back(void* object) noexcept;  // also retires it

    // Keeps a live object's memory until it is dropped, although its life as a handle may end before.
    void hold(const void* object) noexcept { slot_of(object)->references.fetch_add(1, std::memory_order_relaxed); }
    // Ends a hold, or the object's own one. Returns true for the last, after which the object is to be deleted.
    bool drop(const void* object) noexcept { return slot_of(object)->references.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    // Returns whether the address came from take() and has not been passed to give_back() since.
    bool is_live(const void* object) const noexcept { return contains(object) && generation(object) % 2 == 1; }
    // The number is odd while the object lives, and differs for each life of the slot. It is only for an address that was live once.
    uint32_t generation(const void* object) const noexcept { return slot_of(object)->generation.load(std::memory_order_acquire); }

    void for_each_live(const std::function<void(const void*)>& visit) const;

   private:
    struct Slot {
        std::atomic<uint32_t> generation{0};
        std::atomic<uint32_t> references{0};  // the object's own, while it lives as a handle, and one for each hold
        Slot* next = nullptr;                 // the slot that was given back after this one
    };
    static constexpr size_t kHeader = 16;

    static Slot* slot_of(const void* object) {
        return reinterpret_cast<Slot*>(const_cast<char*>(static_cast<const char*>(object)) - kHeader);
    }
    bool contains(const void* object) const noexcept;
    Slot* new_slot();

    const size_t slot_size_, size_;  // size_: the size of all slots together
    char* const memory_;
    std::atomic<size_t> used_{0};  // bytes of memory_ that are slots already

    SpinLock lock_;
    // Slots wait in a queue before they are used again, so that a stale handle does not soon look like a live one.
    Slot* oldest_ = nullptr;
    Slot* newest_ = nullptr;
    size_t waiting_ = 0;
};

// The pool of one kind of handle; it is defined where the kind is.
template <class T>
SlotPool& slots_of();

// Ends a hold on the object, or its own one after it was retired.
template <class T>
void drop(T* object) noexcept {
    if (slots_of<std::remove_const_t<T>>().drop(object)) delete object;
}

// The base of the structures behind handles: `new` and `delete` use the kind's pool.
template <class T>
struct Pooled {
    static void* operator new(size_t) { return slots_of<T>().take(); }
    static void operator delete(void* object) noexcept { slots_of<T>().give_back(object); }
};

}  // namespace torch_aclnn::host
