#include "engine/runtime/stream/failure.h"
#include "engine/runtime/calling_thread.h"

namespace torch_aclnn::host {

uint64_t next_launch() noexcept {
    static std::atomic<uint64_t> newest{0};
    return newest.fetch_add(1, std::memory_order_acq_rel) + 1;
}

bool Failure::is_due() const {
    if (pending()) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    return affected_.count(thread_number()) != 0;
}

bool Failure::claim() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool first = pending();
    if (first) reported_at_.store(next_launch(), std::memory_order_release);
    const bool affected = affected_.erase(thread_number()) != 0;
    return first || affected;
}

void Failure::add_affected(uint64_t thread) {
    const std::lock_guard<std::mutex> lock(mutex_);
    affected_.insert(thread);
}

void Failure::inherit(const Failure& older) {
    if (&older == this) return;
    const std::scoped_lock lock(mutex_, older.mutex_);
    affected_.insert(older.affected_.begin(), older.affected_.end());
}

}  // namespace torch_aclnn::host
