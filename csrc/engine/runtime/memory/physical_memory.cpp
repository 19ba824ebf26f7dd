#include "engine/runtime/memory/physical_memory.h"

#include <unistd.h>

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/handle_table.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/poison.h"
#include "engine/runtime/memory/share.h"

namespace torch_aclnn::host {

constexpr auto& physicals = lasting<HandleTable<Physical>, HandleKind::physical_memory>;

[[noreturn]] static void refuse_physical(const void* handle) {
    refuse(ACL_ERROR_RT_INVALID_HANDLE, "handle", "live physical memory", text(handle));
}

Physical::Physical(Device& device, size_t size) : device_(device), file_(MemoryFile::own()), size_(size) {
    device_.reserve(size_);
    try {
        offset_ = file_->extend(size_);
    } catch (...) {
        device_.release(size_);
        throw;
    }
}

Physical::Physical(Device& device, const SharedMemory& shared)
    : device_(device), file_(shared.file), size_(shared.size), offset_(shared.offset), is_poisoned_(true) {}

Physical::~Physical() {
    if (is_foreign()) return;
    if (share_ != 0) (void)end_share(share_, ShareKind::physical);
    file_->give_back(offset_, size_);
    device_.release(size_);
}

bool Physical::map_at(void* address) noexcept {
    if (!file_->map(address, offset_, size_)) return false;
    if (!is_poisoned_) poison_if_wanted(address, size_);
    is_poisoned_ = true;
    return true;
}

uint64_t Physical::share(bool to_all) {
    if (is_foreign()) refuse(ACL_ERROR_RT_PARAM_INVALID, "handle", "memory of this process", "another process's");
    const std::lock_guard<std::mutex> lock(share_mutex_);
    if (share_ != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "handle", "memory that is not shared yet", "one that is");
    share_ = torch_aclnn::host::share(ShareKind::physical, offset_, size_, device(), to_all).number;
    return share_;
}

std::shared_ptr<Physical> find_physical(const void* handle) {
    auto physical = physicals().find(handle);
    if (physical == nullptr) refuse_physical(handle);
    return physical;
}

void* add_physical(std::shared_ptr<Physical> physical) {
    return physicals().add(std::move(physical));
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Only the device matters among the properties: the rest chooses between kinds of the chip's memory.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                                                             uint64_t) {
    return traced(can_fail(__func__), call_arguments("handle", value_at(handle), "size", size), [&] {
        require_pointer("handle", handle);
        require_pointer("prop", prop);
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        if (size == 0 || size % page != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "size", text("a multiple of ", page), std::to_string(size));
        *handle = add_physical(std::make_shared<Physical>(find_device("prop->location.id", prop->location.id), size));
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    return traced(__func__, call_arguments("handle", handle), [&] {
        if (physicals().remove(handle) == nullptr) refuse_physical(handle);
    });
}

// Any number of pages will do; a chip's memory comes in huge ones.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                                                          size_t* granularity) {
    return traced(__func__, call_arguments("granularity", value_at(granularity)), [&] {
        require_pointer("prop", prop);
        require_pointer("granularity", granularity);
        (void)find_device("prop->location.id", prop->location.id);
        switch (option) {
            case ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM: *granularity = static_cast<size_t>(sysconf(_SC_PAGESIZE)); break;
            case ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED: *granularity = kHugePage; break;
            default: refuse(ACL_ERROR_INVALID_PARAM, "option", "0 (minimum) or 1 (recommended)", std::to_string(option));
        }
    });
}
