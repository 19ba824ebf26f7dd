// The live handles of one kind. A handle is a number that is never used again, and no two kinds share one, so a stale or foreign
// handle is refused and never followed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace torch_aclnn::host {

enum class HandleKind : uintptr_t {
    context = 1,
    stream = 2,
    event = 3,
    physical_memory = 4,
    communicator = 5,
    graph = 6,
    task_group = 7,
    condition = 8,
    window = 9
};

template <class T>
class HandleTable {
   public:
    explicit HandleTable(HandleKind kind) : next_(kFirst + static_cast<uintptr_t>(kind)) {}

    void* add(std::shared_ptr<T> object) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        void* handle = reinterpret_cast<void*>(next_);
        objects_.emplace(handle, std::move(object));
        next_ += kStep;
        return handle;
    }

    std::shared_ptr<T> find(const void* handle) const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }

    std::shared_ptr<T> remove(const void* handle) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) return nullptr;
        std::shared_ptr<T> object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

    std::vector<std::shared_ptr<T>> all() const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        std::vector<std::shared_ptr<T>> objects;
        objects.reserve(objects_.size());
        for (const auto& entry : objects_) objects.push_back(entry.second);
        return objects;
    }

    void for_each(auto action) const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        for (const auto& entry : objects_) action(entry.first, *entry.second);
    }

   private:
    static constexpr uintptr_t kFirst = 0x10000;
    static constexpr uintptr_t kStep = 0x10;

    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<T>> objects_;
    uintptr_t next_;
};

}  // namespace torch_aclnn::host
