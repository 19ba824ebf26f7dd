// torch's store where no other rank writes into it.
#pragma once

#include <map>
#include <mutex>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace torch_aclnn::host {

// Each rank is taken to do what this one does: a counter is that of all of them, and a key of another rank has what this one has written
// under its own. Nobody is waited for.
class StoreAlone : public c10d::HashStore {
   public:
    explicit StoreAlone(int64_t ranks) : ranks_(ranks) {}

    using c10d::Store::set;
    void set(const std::string& key, const std::vector<uint8_t>& value) override;
    // An error that names the key, if no other rank would have it from what this one does.
    std::vector<uint8_t> get(const std::string& key) override;
    std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
    int64_t add(const std::string& key, int64_t value) override { return HashStore::add(key, value * ranks_); }
    void wait(const std::vector<std::string>&) override {}
    void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

   private:
    const int64_t ranks_;
    std::mutex mutex_;
    // Values by the key without one of its numbers, because any of them may be the rank.
    std::map<std::string, std::vector<uint8_t>> by_pattern_;
};

}  // namespace torch_aclnn::host
