// The devices the engine presents: a budget of memory and a primary context each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acl/acl.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// The limits of cube cores and of vector cores; 0 where none was set.
using CoreLimits = std::array<std::atomic<uint32_t>, 2>;

class Device {
   public:
    explicit Device(int index);

    int index() const { return index_; }
    size_t total_memory() const { return total_memory_; }
    size_t free_memory() const { return total_memory_ - used_memory_.load(std::memory_order_relaxed); }
    void reserve(size_t bytes);  // 207001 if the budget does not hold that much
    void release(size_t bytes) noexcept { used_memory_.fetch_sub(bytes, std::memory_order_relaxed); }

    CoreLimits& core_limits() { return core_limits_; }
    aclrtContext primary_context() const { return primary_context_; }

    void activate() { state_.store(State::active, std::memory_order_relaxed); }
    // Begins the time in which aclrtResetDevice waits for the streams.
    void begin_reset() { state_.store(State::resetting, std::memory_order_relaxed); }
    bool is_resetting() const { return state_.load(std::memory_order_relaxed) == State::resetting; }
    void reset() { state_.store(State::reset, std::memory_order_relaxed); }
    bool active() const { return state_.load(std::memory_order_relaxed) == State::active; }
    // Returns true from aclrtResetDevice until the next aclrtSetDevice.
    bool is_reset() const { return state_.load(std::memory_order_relaxed) == State::reset; }

   private:
    const int index_;
    const size_t total_memory_;
    std::atomic<size_t> used_memory_{0};
    enum class State { untouched, active, resetting, reset };
    std::atomic<State> state_{State::untouched};
    CoreLimits core_limits_{};
    aclrtContext primary_context_;
};

TORCH_ACLNN_HOST_API int device_count();

// Returns the device of that number; 107001 if there is none.
Device& find_device(const char* parameter, int64_t index);

// Returns the device of the calling thread; 107002 if it has none.
Device& current_device();

}  // namespace torch_aclnn::host
