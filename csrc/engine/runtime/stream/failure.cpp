#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

uint64_t thread_number() noexcept {
    static std::atomic<uint64_t> newest{0};
    thread_local const uint64_t number = newest.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

bool Failure::concerns_caller() const {
    if (pending()) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    return concerned_.count(thread_number()) != 0;
}

void Failure::add_concerned(uint64_t thread) {
    const std::lock_guard<std::mutex> lock(mutex_);
    concerned_.insert(thread);
}

void Failure::inherit(const Failure& older) {
    if (&older == this) return;
    const std::scoped_lock lock(mutex_, older.mutex_);
    concerned_.insert(older.concerned_.begin(), older.concerned_.end());
}

aclError Failure::tell() noexcept {
    return guarded("stream", [&](const char*) -> aclError {
        const std::lock_guard<std::mutex> lock(mutex_);
        const bool first = !told_.exchange(true, std::memory_order_acq_rel);
        const bool concerned = concerned_.erase(thread_number()) != 0;
        return first || concerned ? fail(code_, message_) : ACL_SUCCESS;
    });
}

}  // namespace torch_aclnn::host
