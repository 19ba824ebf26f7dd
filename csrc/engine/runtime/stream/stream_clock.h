// The last task of each stream that is known to come before some point of another stream's work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace torch_aclnn::host {

class StreamClock {
   public:
    // Returns the number of the stream's last task that is known to come before; 0 if there is none.
    uint64_t of(int stream) const {
        const auto found = tasks_.find(stream);
        return found == tasks_.end() ? 0 : found->second;
    }
    uint64_t advance(int stream) { return ++tasks_[stream]; }
    void merge(const StreamClock& other) {
        for (const auto& [stream, task] : other.tasks_) tasks_[stream] = std::max(tasks_[stream], task);
    }

   private:
    std::map<int, uint64_t> tasks_;
};

}  // namespace torch_aclnn::host
