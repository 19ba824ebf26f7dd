#include "engine/opapi/executor_cache.h"

#include <cstdlib>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/lasting.h"
#include "torch_aclnn/executor_cache.h"

namespace torch_aclnn::host {

// An executor that can be made again and again. It keeps what is behind the handles, which the program destroys after the first call.
class Original {
   public:
    // `arguments` are copies of the arrays that the executor was made of; null where it uses those of the program.
    Original(const aclOpExecutor& made, std::vector<void*> data, std::shared_ptr<const void> arguments)
        : entry_point_(made.entry_point),
          inputs_(made.inputs),
          outputs_(made.outputs),
          input_count_(made.input_count),
          output_count_(made.output_count),
          compute_(made.compute),
          watched_(made.watched),
          memory_version_(made.memory_version),
          data_(std::move(data)),
          arguments_(std::move(arguments)) {
        for (const WatchedHandle& handle : watched_) handle.hold();
    }
    ~Original() {
        for (const WatchedHandle& handle : watched_) handle.drop();
    }
    Original(const Original&) = delete;
    Original& operator=(const Original&) = delete;

    // Returns the addresses of the tensors' memory, in the tensors' order.
    const std::vector<void*>& data() const { return data_; }
    static std::unique_ptr<aclOpExecutor> again(std::shared_ptr<const Original> self) {
        auto made = std::make_unique<aclOpExecutor>(self->entry_point_, self->compute_);
        made->inputs = self->inputs_;
        made->outputs = self->outputs_;
        made->input_count = self->input_count_;
        made->output_count = self->output_count_;
        made->watched.reserve(self->watched_.size());
        for (const WatchedHandle& handle : self->watched_) made->watched.push_back(handle);
        made->memory_version = self->memory_version_;
        made->cached = std::move(self);
        return made;
    }

   private:
    const char* entry_point_;
    decltype(aclOpExecutor::inputs) inputs_;
    decltype(aclOpExecutor::outputs) outputs_;
    size_t input_count_, output_count_;
    aclOpExecutor::Compute compute_;
    std::vector<WatchedHandle> watched_;
    uint64_t memory_version_;
    std::vector<void*> data_;
    std::shared_ptr<const void> arguments_;
};

// What all calls with a key have in common, and the executors for the last few sets of addresses: a training loop has the same again.
class CachedCall {
   public:
    CachedCall(aclOpExecutor& made, const std::vector<void*>& data)
        : entry_point_(made.entry_point),
          recipe_(std::move(made.recipe)),
          tensor_count_(recipe_->arguments.tensors().size()),
          originals_{std::make_shared<const Original>(made, data, nullptr)} {}

    const char* entry_point() const { return entry_point_; }
    // Returns the executor for tensors with these data addresses, in their order; null if they are not as many.
    std::unique_ptr<aclOpExecutor> executor(const std::vector<void*>& data) {
        if (auto found = find(data)) return Original::again(std::move(found));
        if (data.size() != tensor_count_) return nullptr;
        auto arguments = std::make_shared<const KeptArguments>(recipe_->arguments.moved(data));
        const auto made = recipe_->make(*arguments);
        const auto original = std::make_shared<const Original>(*made, data, std::move(arguments));
        auto replaced = original;  // the object that it replaces is destroyed outside the lock
        {
            const std::lock_guard<SpinLock> lock(lock_);
            originals_[next_ = (next_ + 1) % originals_.size()].swap(replaced);
        }
        return Original::again(original);
    }

   private:
    std::shared_ptr<const Original> find(const std::vector<void*>& data) {
        const std::lock_guard<SpinLock> lock(lock_);
        for (const auto& original : originals_)
            if (original != nullptr && original->data() == data) return original;
        return nullptr;
    }

    const char* entry_point_;
    std::unique_ptr<const Recipe> recipe_;
    size_t tensor_count_;
    SpinLock lock_;
    std::array<std::shared_ptr<const Original>, 4> originals_;
    size_t next_ = 0;
};

namespace {

constexpr size_t kDefaultLimit = 10000;  // CANN's default

struct Key {
    std::string contents;  // empty: there is none
    std::vector<void*> data;

    void clear() {
        contents.clear();
        data.clear();
    }
};
thread_local Key thread_key;

// Returns for each address the position of the first tensor that has it.
std::vector<uint32_t> first_places(const std::vector<void*>& data) {
    std::vector<uint32_t> order(data.size()), first(data.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return std::less<>()(data[a], data[b]); });
    for (size_t i = 0; i < order.size(); ++i) {
        const bool is_same = i > 0 && data[order[i]] == data[order[i - 1]];
        first[order[i]] = is_same ? first[order[i - 1]] : order[i];
    }
    return first;
}

// Returns the key with which tensors are one, by which phase 1 tells whether an output may be an input. It is valid until the thread asks
// again.
const std::string& full_key(const void* contents, size_t size) {
    constexpr size_t kFew = 16;
    thread_local std::string key;
    const std::vector<void*>& data = thread_key.data;
    key.assign(static_cast<const char*>(contents), size);
    if (data.size() > kFew) {
        const std::vector<uint32_t> first = first_places(data);
        return key.append(reinterpret_cast<const char*>(first.data()), first.size() * sizeof(first[0]));
    }
    for (void* address : data) key.push_back(static_cast<char>(std::find(data.begin(), data.end(), address) - data.begin()));
    return key;
}

size_t limit() {
    static const size_t once = [] {
        const char* value = std::getenv("ACLNN_CACHE_LIMIT");
        return value == nullptr ? kDefaultLimit : std::strtoul(value, nullptr, 10);
    }();
    return once;
}

class Cache {
   public:
    std::shared_ptr<CachedCall> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(key);
        if (found == calls_.end()) return nullptr;
        Kept& kept = found->second;
        if (!std::exchange(kept.is_repeated, true)) repeated_.splice(repeated_.end(), once_, kept.place);
        return kept.call;
    }
    void count_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
    void keep(const std::string& key, std::shared_ptr<CachedCall> call) {
        std::shared_ptr<CachedCall> oldest;  // destroyed outside the lock
        const std::lock_guard lock(mutex_);
        const bool are_many = once_.size() >= std::max<size_t>(limit() / 4, 1);
        if (are_many || calls_.size() >= limit()) {
            std::list<std::string>& order = are_many || repeated_.empty() ? once_ : repeated_;
            const auto found = calls_.find(order.front());
            oldest = std::move(found->second.call);
            calls_.erase(found);
            order.pop_front();
        }
        if (calls_.count(key) == 0) calls_.emplace(key, Kept{std::move(call), once_.insert(once_.end(), key)});
    }
    void clear() {
        decltype(calls_) dropped;  // destroyed outside the lock
        const std::lock_guard lock(mutex_);
        dropped.swap(calls_);
        once_.clear();
        repeated_.clear();
    }
    uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

   private:
    struct Kept {
        std::shared_ptr<CachedCall> call;
        std::list<std::string>::iterator place;  // the entry in one of the lists below
        bool is_repeated = false;
    };
    std::mutex mutex_;
    std::unordered_map<std::string, Kept> calls_;
    // The keys by age. Calls that have not come again, such as those with a number that changes at each step, may take a quarter of the
    // room.
    std::list<std::string> once_, repeated_;
    std::atomic<uint64_t> hits_{0};
};
constexpr auto& cache = lasting<Cache>;

aclOpExecutor* find_executor(const void* contents, size_t size, uint64_t* workspace_size) noexcept {
    try {
        if (contents == nullptr || size == 0 || workspace_size == nullptr) return nullptr;
        const auto call = cache().find(full_key(contents, size));
        if (call == nullptr || is_phase1_to_fail(call->entry_point())) return nullptr;
        auto executor = call->executor(thread_key.data);
        if (executor == nullptr) return nullptr;
        cache().count_hit();
        executor->workspace_size = *workspace_size = workspace_size_of_phase1(executor->entry_point);
        return executor.release();
    } catch (const std::exception&) {
        return nullptr;  // phase 1 reports the error
    }
}

}  // namespace

bool is_kept_for_later_calls() {
    return !thread_key.contents.empty();
}

void cache_executor(aclOpExecutor& made) {
    if (made.recipe == nullptr || made.launch) return;
    made.is_in_cache = true;
    const std::string& contents = thread_key.contents;
    cache().keep(full_key(contents.data(), contents.size()), std::make_shared<CachedCall>(made, thread_key.data));
}

void forget_cached_executors() {
    cache().clear();
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// The functions have no codes, so what cannot be cached is computed without the cache.

// With a trace nothing is cached, because it lists both phases of each call.
bool CanUsePTACache(const char*) {
    return limit() > 0 && !tracing();
}

void InitPTACacheThreadLocal() {
    thread_key.clear();
}

void UnInitPTACacheThreadLocal() {
    thread_key.clear();
}

void AddTensorAddrToCachedList(void* address) {
    thread_key.data.push_back(address);
}

void SetPTAHashKey(uint64_t hash) {
    SetPTACacheHashKey(hash == 0 ? nullptr : reinterpret_cast<const uint8_t*>(&hash), sizeof(hash));
}

void SetPTACacheHashKey(const uint8_t* key, size_t size) {
    thread_key.contents.assign(key == nullptr ? "" : reinterpret_cast<const char*>(key), key == nullptr ? 0 : size);
}

aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize) {
    return hash == 0 ? nullptr : find_executor(&hash, sizeof(hash), workspaceSize);
}

aclOpExecutor* PTAFindExecCache(const uint8_t* key, size_t size, uint64_t* workspaceSize) {
    return find_executor(key, size, workspaceSize);
}

uint64_t torchAclnnHostExecutorCacheHits() {
    return cache().hits();
}
