// The devices the engine presents: a budget of memory, a default stream and a primary context each.
#pragma once

#include <atomic>
#include <memory>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

class Stream;

class Device {
   public:
    explicit Device(int index);

    int index() const { return index_; }
    size_t total_memory() const { return total_memory_; }
    size_t free_memory() const { return total_memory_ - used_memory_.load(std::memory_order_relaxed); }
    bool reserve(size_t bytes) noexcept;  // false: the budget does not hold that much
    void release(size_t bytes) noexcept { used_memory_.fetch_sub(bytes, std::memory_order_relaxed); }

    const std::shared_ptr<Stream>& default_stream() const { return default_stream_; }
    aclrtContext primary_context() const { return primary_context_; }

    void activate() { state_.store(State::active, std::memory_order_relaxed); }
    void reset() { state_.store(State::reset, std::memory_order_relaxed); }
    bool active() const { return state_.load(std::memory_order_relaxed) == State::active; }
    // From aclrtResetDevice until the next aclrtSetDevice.
    bool is_reset() const { return state_.load(std::memory_order_relaxed) == State::reset; }

   private:
    const int index_;
    const size_t total_memory_;
    std::atomic<size_t> used_memory_{0};
    enum class State { untouched, active, reset };
    std::atomic<State> state_{State::untouched};
    std::shared_ptr<Stream> default_stream_;
    aclrtContext primary_context_;
};

int device_count();

// Refuses with 107001 and a sentence if there is no such device.
aclError find_device(const char* function, const char* parameter, int64_t index, Device*& device);

// Refuses with 107002 and a sentence if the calling thread has not chosen a device.
aclError find_current_device(const char* function, Device*& device);

// Leaves the sentence of a device whose budget does not hold `size` more bytes and returns 207001.
aclError fail_out_of_memory(const char* function, const Device& device, size_t size);

}  // namespace torch_aclnn::host
