// How often each entry point ran, for tests that must know which library answered.

#include <mutex>
#include <unordered_map>

#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {
namespace {

// Counters are static objects of other libraries and link themselves in while those are loaded, on any thread.
std::atomic<CallCounter*> newest{nullptr};

// What each counter showed at the last reset. A counter itself only ever counts up, so that counting needs no lock.
struct Baseline {
    std::mutex mutex;
    std::unordered_map<const CallCounter*, uint64_t> calls;
};

Baseline& baseline() {
    static auto* const once = new Baseline;
    return *once;
}

}  // namespace

CallCounter::CallCounter(const char* name) noexcept : name_(name), next_(newest.load(std::memory_order_relaxed)) {
    while (!newest.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Fills up to `capacity` names and counts and returns how many entry points have run since the last reset; call with capacity 0
// to learn the size.
extern "C" TORCH_ACLNN_HOST_API size_t torchAclnnHostCalls(const char** names, uint64_t* counts, size_t capacity) {
    size_t found = 0;
    guarded("torchAclnnHostCalls", [&] {
        Baseline& reset = baseline();
        std::lock_guard<std::mutex> lock(reset.mutex);
        for (const CallCounter* counter = newest.load(std::memory_order_acquire); counter != nullptr; counter = counter->next()) {
            const auto before = reset.calls.find(counter);
            const uint64_t calls = counter->calls() - (before == reset.calls.end() ? 0 : before->second);
            if (calls == 0) continue;
            if (found < capacity && names != nullptr && counts != nullptr) {
                names[found] = counter->name();
                counts[found] = calls;
            }
            ++found;
        }
    });
    return found;
}

extern "C" TORCH_ACLNN_HOST_API void torchAclnnHostResetCalls(void) {
    guarded("torchAclnnHostResetCalls", [] {
        Baseline& reset = baseline();
        std::lock_guard<std::mutex> lock(reset.mutex);
        for (const CallCounter* counter = newest.load(std::memory_order_acquire); counter != nullptr; counter = counter->next()) {
            reset.calls[counter] = counter->calls();
        }
    });
}
