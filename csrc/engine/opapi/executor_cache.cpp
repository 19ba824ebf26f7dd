#include "engine/opapi/executor_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>

#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/fault/injection.h"
#include "torch_aclnn/executor_cache.h"

namespace torch_aclnn::host {

// What all calls with a key have in common. It keeps what is behind the handles, which the program destroys after the first.
class CachedCall {
   public:
    CachedCall(aclOpExecutor& made, std::vector<void*> data)
        : entry_point_(made.entry_point),
          inputs_(made.inputs),
          outputs_(made.outputs),
          input_count_(made.input_count),
          output_count_(made.output_count),
          compute_(made.compute),
          watched_(made.watched),
          recipe_(std::move(made.recipe)),
          data_(std::move(data)) {
        for (const WatchedHandle& handle : watched_) handle.hold();
    }
    ~CachedCall() {
        for (const WatchedHandle& handle : watched_) handle.drop();
    }
    CachedCall(const CachedCall&) = delete;
    CachedCall& operator=(const CachedCall&) = delete;

    const char* entry_point() const { return entry_point_; }
    // The executor for tensors with these data addresses, in their order; null if they are not as many.
    static std::unique_ptr<aclOpExecutor> executor(const std::shared_ptr<const CachedCall>& call, const std::vector<void*>& data) {
        if (data == call->data_) return call->same(call);
        if (data.size() != call->recipe_->arguments.tensors().size()) return nullptr;
        const auto moved = std::make_shared<const KeptArguments>(call->recipe_->arguments.moved(data));
        auto made = call->recipe_->make(*moved);
        made->cached = moved;
        return made;
    }

   private:
    std::unique_ptr<aclOpExecutor> same(std::shared_ptr<const CachedCall> self) const {
        auto made = std::make_unique<aclOpExecutor>(entry_point_, compute_);
        made->inputs = inputs_;
        made->outputs = outputs_;
        made->input_count = input_count_;
        made->output_count = output_count_;
        made->watched.reserve(watched_.size());
        for (const WatchedHandle& handle : watched_) made->watched.push_back(handle);
        made->cached = std::move(self);
        return made;
    }

    const char* entry_point_;
    decltype(aclOpExecutor::inputs) inputs_;
    decltype(aclOpExecutor::outputs) outputs_;
    size_t input_count_, output_count_;
    aclOpExecutor::Compute compute_;
    std::vector<WatchedHandle> watched_;
    std::unique_ptr<const Recipe> recipe_;
    std::vector<void*> data_;
};

namespace {

constexpr size_t kDefaultLimit = 10000;  // of CANN

struct Key {
    std::string contents;  // empty: there is none
    std::vector<void*> data;
};
thread_local Key thread_key;

// The key, and which tensors are one, by which phase 1 tells whether an output may be an input: each tensor as the place of the first with
// its address.
std::string with_aliases(std::string contents, const std::vector<void*>& data) {
    std::vector<uint32_t> order(data.size()), first(data.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return std::less<>()(data[a], data[b]); });
    for (size_t i = 0; i < order.size(); ++i) {
        const bool is_same = i > 0 && data[order[i]] == data[order[i - 1]];
        first[order[i]] = is_same ? first[order[i - 1]] : order[i];
    }
    return contents.append(reinterpret_cast<const char*>(first.data()), first.size() * sizeof(first[0]));
}

size_t limit() {
    static const size_t once = [] {
        const char* value = std::getenv("ACLNN_CACHE_LIMIT");
        return value == nullptr ? kDefaultLimit : std::strtoul(value, nullptr, 10);
    }();
    return once;
}

// Streams may still run what is in it as the process ends.
class Cache {
   public:
    static Cache& of_process() {
        static auto* const once = new Cache;
        return *once;
    }
    std::shared_ptr<const CachedCall> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(key);
        return found == calls_.end() ? nullptr : found->second;
    }
    void count_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
    void keep(const std::string& key, std::shared_ptr<const CachedCall> call) {
        std::shared_ptr<const CachedCall> oldest;  // goes without the lock
        const std::lock_guard lock(mutex_);
        if (calls_.size() >= limit()) {
            const auto found = calls_.find(order_.front());
            oldest = std::move(found->second);
            calls_.erase(found);
            order_.pop_front();
        }
        if (calls_.emplace(key, std::move(call)).second) order_.push_back(key);
    }
    void clear() {
        decltype(calls_) dropped;  // go without the lock
        const std::lock_guard lock(mutex_);
        dropped.swap(calls_);
        order_.clear();
    }
    uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

   private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const CachedCall>> calls_;
    std::list<std::string> order_;
    std::atomic<uint64_t> hits_{0};
};

aclOpExecutor* find_executor(std::string contents, uint64_t* workspace_size) noexcept {
    try {
        if (contents.empty() || workspace_size == nullptr) return nullptr;
        const auto call = Cache::of_process().find(with_aliases(std::move(contents), thread_key.data));
        if (call == nullptr || is_phase1_to_fail(call->entry_point())) return nullptr;
        auto executor = CachedCall::executor(call, thread_key.data);
        if (executor == nullptr) return nullptr;
        Cache::of_process().count_hit();
        executor->workspace_size = *workspace_size = workspace_size_of_phase1();
        return executor.release();
    } catch (const std::exception&) {
        return nullptr;  // phase 1 reports what is the matter
    }
}

std::string bytes(const void* data, size_t size) {
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

}  // namespace

bool is_kept_for_later_calls() {
    return !thread_key.contents.empty();
}

void cache_executor(aclOpExecutor& made) {
    if (made.recipe == nullptr || made.launch) return;
    made.is_in_cache = true;
    Cache::of_process().keep(with_aliases(thread_key.contents, thread_key.data), std::make_shared<const CachedCall>(made, thread_key.data));
}

void forget_cached_executors() {
    Cache::of_process().clear();
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The functions have no codes. What cannot be cached is computed without the cache.

// A trace has all of both phases.
bool CanUsePTACache(const char*) {
    return limit() > 0 && !tracing();
}

void InitPTACacheThreadLocal() {
    thread_key = {};
}

void UnInitPTACacheThreadLocal() {
    thread_key = {};
}

void AddTensorAddrToCachedList(void* address) {
    thread_key.data.push_back(address);
}

void SetPTAHashKey(uint64_t hash) {
    thread_key.contents = hash == 0 ? std::string() : bytes(&hash, sizeof(hash));
}

void SetPTACacheHashKey(const uint8_t* key, size_t size) {
    thread_key.contents = bytes(key, size);
}

aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize) {
    return hash == 0 ? nullptr : find_executor(bytes(&hash, sizeof(hash)), workspaceSize);
}

aclOpExecutor* PTAFindExecCache(const uint8_t* key, size_t size, uint64_t* workspaceSize) {
    return find_executor(bytes(key, size), workspaceSize);
}

uint64_t torchAclnnHostExecutorCacheHits() {
    return Cache::of_process().hits();
}
