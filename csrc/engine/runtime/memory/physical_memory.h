// Memory without an address: ranges of the process's file, or of another one's.
#pragma once

#include "engine/runtime/device/device.h"
#include "engine/runtime/memory/share.h"

namespace torch_aclnn::host {

// It lives until it has been freed and unmapped; then its pages go back to the machine and its bytes to the device's budget.
class Physical {
   public:
    Physical(Device& device, size_t size);                 // 207001 if the device's budget or the machine has not that much
    Physical(Device& device, const SharedMemory& shared);  // memory of another process, within that process's budget
    ~Physical();
    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;

    int device() const { return device_.index(); }
    size_t size() const { return size_; }
    // Puts the memory at the address, which must belong to a reserved range. Returns false if the machine refuses.
    bool map_at(void* address) noexcept;
    // Returns the number by which other processes find it (share.h); 107000 if it has one, or is another process's.
    uint64_t share(bool to_all);

   private:
    bool is_foreign() const { return file_ != MemoryFile::own(); }

    Device& device_;
    const std::shared_ptr<MemoryFile> file_;
    const size_t size_;
    int64_t offset_ = 0;
    bool is_poisoned_ = false;  // poisoned when it is first mapped
    std::mutex share_mutex_;
    uint64_t share_ = 0;
};

// Returns the memory behind the handle; 107017 if there is none.
std::shared_ptr<Physical> find_physical(const void* handle);
void* add_physical(std::shared_ptr<Physical> physical);

}  // namespace torch_aclnn::host
