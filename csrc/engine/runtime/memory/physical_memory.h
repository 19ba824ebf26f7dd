// Memory without an address: ranges of one file that is held in memory.
#pragma once

#include <memory>

#include "engine/runtime/device/device.h"

namespace torch_aclnn::host {

// Lives until it has been freed and unmapped; then its pages go back to the machine and its bytes to the device's budget.
class Physical {
   public:
    Physical(Device& device, size_t size);  // 207001 if the device's budget or the machine has not that much
    ~Physical();
    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;

    int device() const { return device_.index(); }
    size_t size() const { return size_; }
    // Puts the memory at the address, which must belong to a reserved range; false if the machine refuses.
    bool map_at(void* address) noexcept;

   private:
    Device& device_;
    const size_t size_;
    int64_t offset_;
    bool is_poisoned_ = false;  // when it is first mapped
};

// The memory behind the handle; 107017 if there is none.
std::shared_ptr<Physical> find_physical(const void* handle);

}  // namespace torch_aclnn::host
